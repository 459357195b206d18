import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { schemaSteps } from '../../migrations/index.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { isConnectionLoss } from '../postgres/database-errors.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import type { Database } from '../postgres/database.js';
import { persist } from '../postgres/retries.js';
import { checkBytes } from './bytes-check.js';
import { checkCollations, type FoundColumn } from './collation-check.js';
import { entitiesIn } from './entities.js';
import { asMissingRight, checkRights, type Purpose } from './rights-check.js';
import { checkSeparation, type Separation } from './separation-check.js';
import { checkWritable } from './write-check.js';

/**
 * A database that restarts is back within seconds; after a longer outage the
 * first request would fail anyway.
 */
const PATIENCE = 30_000;

/**
 * Refuses to start on a data source that cannot hold the keys, and says what is missing.
 *
 * @param readOnly nothing will be written: a standby or a read-only role will do
 */
export async function checkSchema(
  dataSource: DataSource,
  database: Database,
  schema: string | undefined,
  readOnly = false,
): Promise<void> {
  if (dataSource.options.type !== 'postgres') {
    throw new IdempotencyConfigurationError(
      `dataSource: the data source is of type ${dataSource.options.type}, but keys are kept in PostgreSQL. Name a postgres data source with the dataSource option.`,
    );
  }
  checkEntities(dataSource, schema);
  await patiently(async () => {
    await checkBytes(database);
    if (!readOnly) await checkWritable(database);
    for (const step of schemaSteps) await checkTable(dataSource, database, schema, step);
  });
}

/** Refuses a role that may not do what this process has to do, or sees what it must not see. */
export async function checkRole(
  database: Database,
  purposes: readonly Purpose[],
  separation: Separation,
): Promise<void> {
  await patiently(async () => {
    await checkRights(database, purposes);
    await checkSeparation(database, separation);
  });
}

function patiently(check: () => Promise<void>): Promise<void> {
  return persist(check, { within: PATIENCE, again: isPassing }, (error) => {
    throw asMissingRight(error);
  });
}

function checkEntities(dataSource: DataSource, schema: string | undefined): void {
  const entities = entitiesIn(schema);
  if (!entities.every((entity) => dataSource.hasMetadata(entity))) {
    throw new IdempotencyConfigurationError(
      'entities: the data source does not know the entities of this module. ' +
        'Set autoLoadEntities: true in TypeOrmModule.forRoot()' +
        // The entities of another schema are made by this module, so users cannot list them.
        (schema === undefined ? ', or add ...idempotencyEntities to its entities.' : '.'),
    );
  }
  const columns = new Set(schemaSteps.flatMap((step) => step.columns));
  for (const entity of entities) {
    const renamed = dataSource
      .getMetadata(entity)
      .columns.find(({ databaseName }) => !columns.has(databaseName));
    if (renamed) {
      throw new IdempotencyConfigurationError(
        `namingStrategy: the naming strategy of the data source calls the column of ${entity.name}.${renamed.propertyName} "${renamed.databaseName}", although it has a name of its own, by which statements know it. ` +
          'Let columnName(propertyName, customName) return customName where it is given.',
      );
    }
  }
}

async function checkTable(
  dataSource: DataSource,
  database: Database,
  schema: string | undefined,
  { migration, table, columns }: (typeof schemaSteps)[number],
): Promise<void> {
  const name = database.table(table);
  const found = await database.query<FoundColumn>(
    `SELECT attname AS name, collname AS collation
     FROM pg_attribute LEFT JOIN pg_collation c ON c.oid = attcollation
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [name],
  );
  const names = new Set(found.map((row) => row.name));
  const absent = columns.filter((column) => !names.has(column));
  if (absent.length === 0) return checkCollations(database, table, found);
  const what =
    names.size === 0
      ? `the table ${name} does not exist`
      : `the table ${name} is of another version: it lacks ${absent.join(', ')}`;
  const migrations =
    schema === undefined
      ? 'idempotencyMigrations'
      : `idempotencyMigrationsIn(${JSON.stringify(schema)})`;
  throw new IdempotencyConfigurationError(
    `migrations: ${what}. Run the migration ${migration}: spread ${migrations} from 'nestjs-atomic-idempotency/migrations' into the data source's migrations and run them (migrationsRun: true, or the typeorm command line).` +
      // TypeORM remembers migrations by name, in a table that has no prefix.
      (dataSource.options.entityPrefix || schema !== undefined
        ? ' If another data source of this database has run them for tables of its own, give this one its own migrationsTableName.'
        : ''),
  );
}

/** The database is stopping, starting, or too busy to answer: a retry may succeed. */
function isPassing(error: unknown): boolean {
  const passing =
    isConnectionLoss(error) ||
    (error instanceof StoreUnavailableError && error.cause === undefined);
  if (passing) {
    new Logger('IdempotencyModule').warn(
      `The tables could not be checked at boot (${String((error as Error).cause ?? error)}). Trying again.`,
    );
  }
  return passing;
}
