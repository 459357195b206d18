import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { bootFailure } from './boot-failure.js';

const TABLES = [
  'idempotency_keys',
  'idempotency_phases',
  'idempotency_outbox',
  'idempotency_processes',
  'idempotency_data_keys',
];

let database: TestDatabase;
let role: string;
let url: string;

/** A role that may connect, and do nothing yet. */
beforeEach(async () => {
  database = await createTestDatabase();
  role = `${database.name}_role`;
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  const ofRole = new URL(database.url);
  ofRole.username = role;
  ofRole.password = 'secret';
  url = ofRole.href;
});
afterEach(async () => {
  await database.query(`DROP OWNED BY ${role}`);
  await database.query(`DROP ROLE ${role}`);
  await database.drop();
});

/** All that the README says a role needs, in the schema where the migrations made the tables. */
async function grantAll(): Promise<void> {
  for (const table of TABLES) {
    await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`);
  }
  await database.query(`GRANT SELECT, INSERT ON idempotency_audit TO ${role}`);
  await database.query(`GRANT SELECT, INSERT, UPDATE ON idempotency_jobs TO ${role}`);
  await database.query(`GRANT USAGE ON SEQUENCE idempotency_outbox_position_seq TO ${role}`);
}

describe('Missing database rights', () => {
  async function refuses(...words: string[]): Promise<void> {
    const error = await bootFailure({ database, dataSource: { url } });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    for (const word of words) expect(error.message).toContain(word);
  }

  it.each([
    ['SELECT', 'idempotency_keys'],
    ['INSERT', 'idempotency_keys'],
    ['UPDATE', 'idempotency_phases'],
    ['DELETE', 'idempotency_outbox'],
    ['INSERT', 'idempotency_audit'],
    ['UPDATE', 'idempotency_jobs'],
    ['DELETE', 'idempotency_processes'],
  ])('stop the boot with what to do: %s on %s', async (right, table) => {
    await grantAll();
    await database.query(`REVOKE ${right} ON ${table} FROM ${role}`);
    await refuses(`no right to ${right} on the table "${table}"`, `GRANT SELECT, INSERT`, role);
  });

  it('stop the boot with what to do: the sequence of the outbox', async () => {
    await grantAll();
    await database.query(`REVOKE ALL ON SEQUENCE idempotency_outbox_position_seq FROM ${role}`);
    await refuses('GRANT USAGE ON SEQUENCE', 'idempotency_outbox_position_seq', role);
  });

  it('stop the boot with what to do: usage of the schema', async () => {
    await database.query('ALTER SCHEMA public RENAME TO shop');
    await database.query('REVOKE ALL ON SCHEMA shop FROM PUBLIC');
    const error = await bootFailure({ database, dataSource: { url, schema: 'shop' } as object });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('GRANT USAGE ON SCHEMA');
  });

  it('stop the boot with what to do: read-only transactions', async () => {
    await grantAll();
    await database.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
    await refuses('are read-only', `ALTER ROLE ${role} SET default_transaction_read_only = off`);
  });
});

forEachPlatform('The documented database rights', (platform) => {
  it('are enough', async () => {
    await grantAll();
    const routes = new PolicyRoutes({ orders: {} });
    const app = await startIdempotentApp(platform, {
      database,
      dataSource: { url },
      controllers: [routes.controller],
    });
    expect((await send(`${app.url}/orders`, { key: 'k' })).status).toBe(201);
    await app.close();
  });
});
