import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import type { DataSourceOptions } from 'typeorm';
import { CreateRocketRides1763251300000 } from './migrations/1763251300000-create-rocket-rides.js';

export function dataSourceOptions(url: string) {
  return {
    type: 'postgres',
    url,
    // The library's migrations beside our own. Rides refer to the key table, so
    // ours come later; TypeORM goes by the number in their names.
    migrations: [...idempotencyMigrations, CreateRocketRides1763251300000],
  } satisfies DataSourceOptions;
}
