import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import {
  idempotencyMigrations,
  idempotencyMigrationsIn,
} from 'nestjs-atomic-idempotency/migrations';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { bootFailure } from './boot-failure.js';

/** A name that only works where it is quoted. */
const SCHEMA = 'Key "store"';

describe('The schema of the tables', () => {
  const routes = new PolicyRoutes({ orders: {} });
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    // TypeORM puts its own table of migrations there before the first one runs.
    await database.query('CREATE SCHEMA shop');
  });
  afterAll(() => database.drop());

  async function runsOnce(platform: Platform, dataSource: object, idempotency: object) {
    const app = await platform.start({
      imports: [
        TypeOrmModule.forRoot({
          ...database.dataSourceOptions,
          autoLoadEntities: true,
          migrationsRun: true,
          ...dataSource,
        }),
        IdempotencyModule.forRoot({ scope: 'global', ...idempotency }),
      ],
      controllers: [routes.controller],
    });
    routes.answers((execution) => ({ execution }));
    await send(`${app.url}/orders`, { key: platform.name });
    const retry = await send(`${app.url}/orders`, { key: platform.name });
    await app.close();

    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(routes.executions).toBe(1);
  }

  /** In whose tables a key is, among all the schemas of the database. */
  async function homesOf(key: string): Promise<string[]> {
    const tables = await database.query<{ schema: string }>(
      `SELECT table_schema AS schema FROM information_schema.tables WHERE table_name = 'idempotency_keys'`,
    );
    const homes: string[] = [];
    for (const { schema } of tables) {
      const name = `"${schema.replaceAll('"', '""')}"`;
      const rows = await database.query(`SELECT 1 FROM ${name}.idempotency_keys WHERE key = $1`, [
        key,
      ]);
      if (rows.length > 0) homes.push(schema);
    }
    return homes;
  }

  onEachPlatform((platform) => {
    it('is the one of the schema option', async () => {
      await database.query('DROP SCHEMA IF EXISTS "Key ""store""" CASCADE');
      await database.query('DROP TABLE IF EXISTS migrations');
      await runsOnce(platform, { migrations: idempotencyMigrationsIn(SCHEMA) }, { schema: SCHEMA });
      expect(await homesOf(platform.name)).toEqual([SCHEMA]);
    });

    it("is the one of the data source's entities without the option", async () => {
      await database.query('DROP SCHEMA IF EXISTS "Key ""store""" CASCADE');
      await runsOnce(platform, { schema: 'shop', migrations: idempotencyMigrations }, {});
      expect(await homesOf(platform.name)).toEqual(['shop']);
    });
  });

  it('stops the boot if the tables are elsewhere: the error names the table and says what to do', async () => {
    const { message } = await bootFailure({ database, idempotency: { schema: 'elsewhere' } });
    expect(message).toContain('"elsewhere"."idempotency_keys" does not exist');
    expect(message).toContain('CreateIdempotencyKeys1763251200000');
    expect(message).toContain('idempotencyMigrationsIn("elsewhere")');
  });
});
