import type { DataSource } from 'typeorm';
import { isConnectionLoss } from './database-errors.js';
import { Database } from './database.js';
import { isDistributed } from './distribution.js';
import { persist } from './retries.js';
import type { StoreBreaker } from './store-breaker.js';

/** A database that restarts is back within seconds. */
const PATIENCE = 30_000;

/**
 * The database of this data source. Whether its tables are distributed decides
 * how statements are written, so it is asked first.
 *
 * @param tables those that have a scope, the one of keys first
 */
export async function openDatabase(
  dataSource: DataSource,
  options: {
    timeout: number;
    schema: string | undefined;
    prepares: boolean;
    breaker: StoreBreaker;
    tables: readonly string[];
  },
): Promise<Database> {
  const { timeout, schema, prepares, breaker, tables } = options;
  const database = new Database(dataSource, timeout, schema, prepares, false, breaker);
  // The check of the tables refuses it, and names the cure.
  if (dataSource.options.type !== 'postgres') return database;
  const distributed = await persist(() => isDistributed(database, tables), {
    within: PATIENCE,
    again: isConnectionLoss,
  });
  // Of a prepared statement the nodes would not be known when it is planned: all would be asked.
  return distributed ? new Database(dataSource, timeout, schema, false, true, breaker) : database;
}
