import { idempotencyEntities } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { DataSource } from 'typeorm';

const { DATABASE_URL: url, ENTITY_PREFIX: prefix } = process.env;

/** The built package as a user's data source sees it; for TypeORM's command line. */
export default new DataSource({
  type: 'postgres',
  url,
  entities: [...idempotencyEntities],
  migrations: [...idempotencyMigrations],
  ...(prefix && { entityPrefix: prefix, migrationsTableName: `${prefix}migrations` }),
});
