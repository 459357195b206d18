import type { DataSource } from 'typeorm';
import { schemaSteps } from '../../migrations/index.js';
import { IdempotencyConfigurationError } from '../idempotency.errors.js';
import type { Database } from './database.js';
import { entitiesIn } from './tables.js';

/** Refuses to start on a data source that cannot hold the keys, and says what is missing. */
export async function checkSchema(
  dataSource: DataSource,
  database: Database,
  schema: string | undefined,
): Promise<void> {
  if (dataSource.options.type !== 'postgres') {
    throw new IdempotencyConfigurationError(
      `dataSource: the data source is of type ${dataSource.options.type}, but keys are kept in PostgreSQL. Name a postgres data source with the dataSource option.`,
    );
  }
  const missing = entitiesIn(schema).filter((entity) => !dataSource.hasMetadata(entity));
  if (missing.length > 0) {
    throw new IdempotencyConfigurationError(
      'entities: the data source does not know the entities of this module. ' +
        'Set autoLoadEntities: true in TypeOrmModule.forRoot()' +
        // The entities of another schema are made by this module, so nobody can list them.
        (schema === undefined ? ', or add ...idempotencyEntities to its entities.' : '.'),
    );
  }
  for (const { migration, table, columns } of schemaSteps) {
    const found = await database.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute
       WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
      [database.table(table)],
    );
    const names = new Set(found.map((row) => row.name));
    const absent = columns.filter((column) => !names.has(column));
    if (absent.length === 0) continue;
    const what =
      names.size === 0
        ? `the table ${database.table(table)} does not exist`
        : `the table ${database.table(table)} is of another version: it lacks ${absent.join(', ')}`;
    const migrations =
      schema === undefined
        ? 'idempotencyMigrations'
        : `idempotencyMigrationsIn(${JSON.stringify(schema)})`;
    throw new IdempotencyConfigurationError(
      `migrations: ${what}. Run the migration ${migration}: spread ${migrations} from 'nestjs-atomic-idempotency/migrations' into the data source's migrations and run them (migrationsRun: true, or the typeorm command line).`,
    );
  }
}
