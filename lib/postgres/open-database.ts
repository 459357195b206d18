import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { DataSource } from 'typeorm';
import { isConnectionLoss } from './database-errors.js';
import { Database } from './database.js';
import { persist } from './retries.js';
import type { StoreBreaker } from './store-breaker.js';

/** A database that restarts is back within seconds. */
const PATIENCE = 30_000;

/**
 * The database of this data source. Whether its tables are distributed decides
 * how statements are written, so it is asked first.
 *
 * @param table the one by which to tell
 */
export async function openDatabase(
  dataSource: DataSource,
  options: {
    timeout: number;
    schema: string | undefined;
    prepares: boolean;
    breaker: StoreBreaker;
    table: string;
  },
): Promise<Database> {
  const { timeout, schema, prepares, breaker, table } = options;
  const database = new Database(dataSource, timeout, schema, prepares, false, breaker);
  // The check of the tables refuses it, and names the cure.
  if (dataSource.options.type !== 'postgres') return database;
  const distributed = await persist(() => isDistributed(database, table), {
    within: PATIENCE,
    again: isConnectionLoss,
  });
  // Of a prepared statement the nodes would not be known when it is planned: all would be asked.
  return distributed ? new Database(dataSource, timeout, schema, false, true, breaker) : database;
}

async function isDistributed(database: Database, table: string): Promise<boolean> {
  const [server] = await database.query<{ citus: boolean }>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS citus`,
    [],
  );
  if (!server!.citus) return false;
  const [row] = await database.query<{ distributed: boolean; coordinator: boolean; style: string }>(
    `SELECT EXISTS (
              SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass($1) AND partmethod = 'h'
            ) AS distributed,
            (SELECT groupid FROM pg_dist_local_group) = 0 AS coordinator,
            current_setting('datestyle') AS style`,
    [database.table(table)],
  );
  const { distributed, coordinator, style } = row!;
  if (distributed && !coordinator) {
    throw new IdempotencyConfigurationError(
      'dataSource: the data source is connected to a worker of the Citus cluster. Jobs follow the order of ids, which only the coordinator gives out in order. Connect the data source to the coordinator.',
    );
  }
  if (distributed && !style.startsWith('ISO')) {
    throw new IdempotencyConfigurationError(
      `dataSource: its connections have the datestyle '${style}'. The coordinator of the Citus cluster sends dates to the workers in this style, and they may take the day for the month. Connect with the datestyle 'ISO'.`,
    );
  }
  return distributed;
}
