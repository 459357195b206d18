import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { bootFailure, type Boot } from './boot-failure.js';

const TABLES = [
  'idempotency_keys',
  'idempotency_phases',
  'idempotency_outbox',
  'idempotency_processes',
  'idempotency_data_keys',
];

const routes = new PolicyRoutes({ orders: {} });

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

/** More than any one process needs. */
async function grantAll(): Promise<void> {
  for (const table of TABLES) {
    await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`);
  }
  await database.query(`GRANT SELECT, INSERT ON idempotency_audit TO ${role}`);
  await database.query(`GRANT SELECT, INSERT, UPDATE ON idempotency_jobs TO ${role}`);
  await database.query(`GRANT USAGE ON SEQUENCE idempotency_outbox_position_seq TO ${role}`);
}

describe('Missing database rights', () => {
  async function refuses(boot: Partial<Boot>, ...words: string[]): Promise<void> {
    const error = await bootFailure({ database, dataSource: { url }, ...boot });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    for (const word of words) expect(error.message).toContain(word);
  }

  const worker: Partial<Boot> = {};
  const api = { idempotency: { maintenance: false }, controllers: [routes.controller] };
  const page = {
    idempotency: {
      maintenance: false,
      operatorPage: { path: 'operator', access: () => undefined },
    },
  };
  const reader = { idempotency: { readOnly: true } };

  it.each([
    ['SELECT', 'idempotency_keys', 'the sweeper needs', worker],
    ['INSERT', 'idempotency_keys', 'requests with a key need', api],
    ['UPDATE', 'idempotency_phases', 'the completer needs', worker],
    ['DELETE', 'idempotency_phases', 'the reaper needs', worker],
    ['DELETE', 'idempotency_outbox', 'the outbox job needs', worker],
    ['INSERT', 'idempotency_outbox', 'requests with a key need', api],
    ['INSERT', 'idempotency_audit', 'the reconciler needs', worker],
    ['INSERT', 'idempotency_audit', 'the operator page needs', page],
    ['UPDATE', 'idempotency_jobs', 'the sweeper needs', worker],
    ['DELETE', 'idempotency_processes', 'every process needs to report itself', api],
    ['SELECT', 'idempotency_outbox', 'an operator who reads needs', reader],
  ])('stop the boot with what to do: %s on %s, which %s', async (right, table, who, boot) => {
    await grantAll();
    await database.query(`REVOKE ${right} ON ${table} FROM ${role}`);
    await refuses(
      boot,
      `the role ${role} has no right to ${right} on the table "${table}", which ${who}`,
      `GRANT ${right} ON "${table}" TO ${role};`,
      'idempotencyGrants()',
    );
  });

  it('are all named at once', async () => {
    await refuses(api, 'on the table "idempotency_keys"', 'on the table "idempotency_processes"');
  });

  it('stop the boot with what to do: the sequence of the outbox', async () => {
    await grantAll();
    await database.query(`REVOKE ALL ON SEQUENCE idempotency_outbox_position_seq FROM ${role}`);
    await refuses(api, 'GRANT USAGE ON SEQUENCE', 'idempotency_outbox_position_seq', role);
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
    await refuses(
      api,
      'are read-only',
      `ALTER ROLE ${role} SET default_transaction_read_only = off`,
    );
  });
});

describe('A process that only reads', () => {
  it('does not start with jobs or with routes that reserve keys', async () => {
    const jobs = await bootFailure({ database, idempotency: { readOnly: true, maintenance: {} } });
    expect(jobs.message).toContain('readOnly: true, and maintenance asks for jobs');
    const serving = await bootFailure({
      database,
      idempotency: { readOnly: true },
      controllers: [routes.controller],
    });
    expect(serving.message).toMatch(/readOnly: PolicyController\.\w+ has @Idempotent\(\)/);
  });
});
