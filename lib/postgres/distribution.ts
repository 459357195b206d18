import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Database } from './database.js';
import { hasCitus, nodeSession, placesOf, type TablePlace } from './distribution-queries.js';

/** The column that all of them are distributed by. */
const COLUMN = 'scope';

/**
 * Whether the tables are distributed over the nodes of a Citus cluster, by scope.
 * Statements are written for tables that all are, or for tables that none is.
 *
 * @param tables those that have a scope; the others are colocated with the first
 */
export async function isDistributed(
  database: Database,
  tables: readonly string[],
): Promise<boolean> {
  if (!(await hasCitus(database))) return false;
  const places = await placesOf(
    database,
    tables.map((table) => database.table(table)),
  );
  if (places.every(({ column }) => column === null)) return false;
  await checkSession(database);
  const faults = faultsOf(places);
  if (faults.length === 0) return true;
  throw new IdempotencyConfigurationError(
    `migrations: of the tables on this Citus cluster, only some are distributed by ${COLUMN} and colocated: ${faults.join(', ')}. A statement needs all rows of its scope on one node. ${cureOf(places)}`,
  );
}

/** Refuses connections through which the tables could not be used. */
async function checkSession(database: Database): Promise<void> {
  const { coordinator, datestyle } = await nodeSession(database);
  if (!coordinator) {
    throw new IdempotencyConfigurationError(
      'dataSource: the data source is connected to a worker of the Citus cluster. Jobs follow the order of ids, which only the coordinator gives out in order. Connect the data source to the coordinator.',
    );
  }
  if (!datestyle.startsWith('ISO')) {
    throw new IdempotencyConfigurationError(
      `dataSource: its connections have the datestyle '${datestyle}'. The coordinator of the Citus cluster sends dates to the workers in this style, and they may take the day for the month. Connect with the datestyle 'ISO'.`,
    );
  }
}

/** What is wrong with the places of tables. */
function faultsOf(places: readonly TablePlace[]): string[] {
  const [first] = places;
  return places.flatMap(({ table, column, colocation }) => {
    if (column === null) return `${table} is not distributed`;
    if (column !== COLUMN) return `${table} is distributed by ${column}`;
    const apart = first!.column === COLUMN && colocation !== first!.colocation;
    return apart ? `${table} is not colocated with ${first!.table}` : [];
  });
}

/** A table that only has to follow the first one can be distributed by itself. */
function cureOf(places: readonly TablePlace[]): string {
  const [first, ...others] = places;
  const missing = others.filter(({ column }) => column === null);
  const rest = places.filter((place) => !missing.includes(place));
  if (faultsOf(rest).length > 0) {
    return `Revert the migration distributeOnCitus() of 'nestjs-atomic-idempotency/migrations' and run it again: its "down" brings all tables back.`;
  }
  const statements = missing.map(
    ({ table }) =>
      `SELECT create_distributed_table('${table}', '${COLUMN}', colocate_with => '${first!.table}');`,
  );
  return `Run ${statements.join(' ')}`;
}
