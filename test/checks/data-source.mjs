import { IdempotencyKey, IdempotencyPhase } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { DataSource } from 'typeorm';

/** The built package as a user's data source sees it; for TypeORM's command line. */
export default new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL,
  entities: [IdempotencyKey, IdempotencyPhase],
  migrations: [...idempotencyMigrations],
});
