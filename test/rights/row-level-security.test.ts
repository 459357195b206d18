import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  IdempotencyHealthIndicator,
} from 'nestjs-atomic-idempotency';
import { Database } from '../../lib/postgres/database.js';
import { bootFailure } from '../module/boot-failure.js';
import { barrier } from '../support/barrier.js';
import { onCluster } from '../support/cluster.js';
import { send, type Sending } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { hasPgBouncer, startPgBouncer, type PgBouncer } from '../support/pgbouncer.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { createRoleDatabase, type RoleDatabase } from '../support/roles.js';
import { until } from '../support/until.js';
import { Orders, shop, ShopController, tenantOf } from './shop.js';

const JOBS = ['sweeper', 'completer', 'reconciler', 'reaper', 'outbox'] as const;

let database: RoleDatabase;
let proxy: PgBouncer | undefined;
beforeAll(async () => {
  database = await createRoleDatabase({ rowLevelSecurity: true });
  if (hasPgBouncer('Row-level security')) {
    const asApplication = database.as('application').url;
    proxy = await startPgBouncer(asApplication, Object.values(database.roles));
  }
});
afterAll(async () => {
  await proxy?.stop();
  await database.drop();
});
beforeEach(() => {
  shop.gate = barrier();
  shop.charge = () => ({ id: 'ch_1' });
  shop.found = { outcome: 'unknown' };
  shop.delivered = [];
});

describe('Row-level security by scope', () => {
  onEachPlatform((platform) => {
    // One adapter behind the proxy, the other one without it.
    const proxied = platform.name === 'express';
    let app: IdempotentApp;
    beforeAll(async () => {
      const { url } = database.as('application');
      app = await start(platform, { url: (proxied && proxy?.through(url)) || url, poolSize: 3 });
    });
    afterAll(() => app.close());

    const ask = (path: string, key: string, tenant: string, sending: Sending = {}) =>
      send(`${app.url}/${path}`, {
        key: `${platform.name}-${key}`,
        headers: { 'x-tenant': tenant },
        ...sending,
      });

    it('serves the whole protocol, two scopes at a time', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) => ask('plain', `k${n % 3}`, n % 2 ? 'a' : 'b')),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
      expect((await ask('plain', 'k1', 'a', { body: { x: 1 } })).status).toBe(422);
      await database.query(`UPDATE idempotency_keys SET expires_at = now()`);
      expect((await ask('plain', 'k1', 'a')).headers.get('idempotent-replayed')).toBeNull();
      expect((await ask('plain', 'f', 'a', { body: { fail: true } })).status).toBe(500);
      expect((await ask('plain', 'f', 'a', { body: { fail: true } })).status).toBe(500);
    });

    it('renews leases of several scopes, and wakes duplicates', async () => {
      const waiting = { body: { wait: true } };
      const first = ask('plain', 'w', 'a', waiting);
      await shop.gate.arrived();
      const other = ask('plain', 'w', 'b', waiting);
      await until(() => shop.gate.count >= 2, 'the other scope');
      const before = await keyRow(database, `${platform.name}-w`);
      const duplicate = ask('plain', 'w', 'a', waiting);
      await until(async () => {
        const rows = await database.query(
          'SELECT FROM idempotency_keys WHERE key = $1 AND locked_until > $2',
          [`${platform.name}-w`, before.locked_until],
        );
        return rows.length === 2;
      }, 'heartbeats');
      shop.gate.open();
      const texts = (await Promise.all([first, other, duplicate])).map(({ text }) => text);
      expect(new Set(texts).size).toBe(1);
    });

    it('lets phases and messages commit with the data of the application', async () => {
      const body = { name: `${platform.name}-order` };
      const answer = await ask('orders', 'p', 'a', { body });
      expect(answer.json()).toEqual({ id: 'ch_1' });
      expect((await ask('orders', 'p', 'b', { body })).json()).toEqual({ id: 'ch_1' });
      const messages = await database.query(
        `SELECT scope FROM idempotency_outbox WHERE payload ->> 'name' = $1 ORDER BY scope`,
        [body.name],
      );
      expect(messages).toEqual([{ scope: 'a' }, { scope: 'b' }]);
      // A phase that was recorded is found again by the next attempt.
      shop.charge = () => {
        throw new Error('no answer');
      };
      expect((await ask('orders', 'd', 'a', { body })).status).toBe(409);
      expect((await ask('orders', 'd', 'a', { body })).status).toBe(409);
      expect((await ask('later', 'l', 'a', { body })).status).toBe(202);
    });

    it('hides the rows of other scopes from a statement that forgot its WHERE', async () => {
      await Promise.all(
        ['a', 'b'].map((tenant) => ask('orders', 's', tenant, { body: { name: 's' } })),
      );
      const statements = app.app.get(Database, { strict: false });
      const of = (scope: string) => statements.for({ scope });
      for (const table of ['idempotency_keys', 'idempotency_phases']) {
        const seen = await of('a').query(`SELECT DISTINCT scope FROM ${table}`, []);
        expect([table, seen]).toEqual([table, [{ scope: 'a' }]]);
        expect(await of('nobody').query(`SELECT FROM ${table}`, [])).toEqual([]);
      }
      const total = `SELECT count(*)::int AS n FROM idempotency_keys WHERE scope = 'b'`;
      const [before] = await database.query(total);
      await of('a').query(`UPDATE idempotency_keys SET last_error_code = 'touched'`, []);
      const touched = await database.query(
        `SELECT DISTINCT scope FROM idempotency_keys WHERE last_error_code = 'touched'`,
      );
      expect(touched).toEqual([{ scope: 'a' }]);
      await of('a').query('DELETE FROM idempotency_keys', []);
      expect(await database.query(total)).toEqual([before]);
      // On a cluster nobody may change the scope of a row.
      const change = onCluster ? `last_error_code = 'touched'` : `scope = 'a'`;
      await expect(
        of('a').query(`UPDATE idempotency_keys SET ${change} WHERE scope = 'b' RETURNING id`, []),
      ).resolves.toEqual([]);
      await expect(
        of('a').query(
          `INSERT INTO idempotency_outbox (scope, id, topic) VALUES ('b', gen_random_uuid(), 't')`,
          [],
        ),
      ).rejects.toThrow('row-level security');
      // And from whoever sets nothing.
      expect(await database.ask('application', 'SELECT FROM idempotency_keys')).toEqual([]);
    });

    it('leaves nothing on a connection', async () => {
      await ask('plain', 'left', 'a');
      const statements = app.app.get(Database, { strict: false });
      for (let n = 0; n < 6; n++) {
        const rows = await statements
          .for()
          .query(`SELECT coalesce(current_setting('idempotency.scopes', true), '') AS set`, []);
        expect(rows).toEqual([{ set: '' }]);
      }
    });

    it('says so where somebody asks for all scopes', async () => {
      const operator = operatorOf(app);
      await expect(operator.find({ status: 'unknown' })).rejects.toThrow(
        /one scope at a time.*worker/,
      );
      await expect(operator.inspect('1')).rejects.toThrow(IdempotencyConfigurationError);
      await expect(runJob(app, 'reaper')).rejects.toThrow('one scope at a time');
      expect((await operator.find({ scope: 'b' })).keys.length).toBeGreaterThan(0);
      const health = await app.app.get(IdempotencyHealthIndicator, { strict: false }).check();
      expect(health.idempotency).toEqual({ status: 'up', degraded: false, reasons: [] });
    });
  });

  onEachPlatform(
    (platform) => {
      it('does not concern the worker, which does all of its work', async () => {
        const api = await start(platform, database.as('application'));
        const worker = await startIdempotentApp(platform, {
          database,
          dataSource: database.as('worker'),
          providers: [Orders],
          idempotency: {
            scope: tenantOf,
            rowLevelSecurity: true,
            maintenance: Object.fromEntries(JOBS.map((job) => [job, { interval: '20d' }])),
          },
          logger: false,
        });
        for (const tenant of ['a', 'b']) {
          const headers = { 'x-tenant': tenant };
          await send(`${api.url}/later`, { key: 'job', headers, body: { name: tenant } });
          await send(`${api.url}/plain`, { key: 'dead', headers });
        }
        await runJob(worker, 'completer');
        await runJob(worker, 'outbox');
        // The worker's own outbox, woken by the first message, may be delivering them already.
        await until(() => wasDelivered('a') && wasDelivered('b'));
        await database.query(
          `UPDATE idempotency_keys SET status = 'in_progress', completed_at = NULL WHERE key = 'dead'`,
        );
        await lapse(database, 'dead');
        await runJob(worker, 'sweeper');
        const { keys } = await operatorOf(worker).find({ key: 'dead' });
        expect(keys.map(({ scope, status }) => [scope, status])).toEqual([
          ['a', 'failed_retryable'],
          ['b', 'failed_retryable'],
        ]);
        await worker.close();
        await api.close();
      });
    },
    ['fastify'],
  );
});

function wasDelivered(name: string): boolean {
  return shop.delivered.some((payload) => (payload as { name: string }).name === name);
}

function start(platform: Platform, dataSource: Record<string, unknown>): Promise<IdempotentApp> {
  return startIdempotentApp(platform, {
    database,
    dataSource,
    controllers: [ShopController],
    providers: [Orders],
    idempotency: { scope: tenantOf, rowLevelSecurity: true },
    logger: false,
  });
}

describe('An application that expects another row-level security', () => {
  const boot = (role: 'application' | 'worker' | 'owner', idempotency: Record<string, unknown>) =>
    bootFailure({
      database,
      dataSource: role === 'owner' ? {} : database.as(role),
      idempotency: { scope: tenantOf, storeTimeout: '3s', ...idempotency },
      ...(idempotency.maintenance === false && {
        controllers: [ShopController],
        providers: [Orders],
      }),
    });

  it.each([
    ['application', { maintenance: false }, 'Set rowLevelSecurity: true'],
    ['application', { maintenance: false, rowLevelSecurity: true, batching: true }, 'batching'],
    [
      'owner',
      { maintenance: false, rowLevelSecurity: true },
      'owns the tables, is a superuser or has BYPASSRLS',
    ],
    ['worker', { maintenance: false, rowLevelSecurity: true }, 'INSERT'],
  ] as const)('does not start (%s, %j)', async (role, options, words) => {
    const error = await boot(role, options);
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain(words);
  });

  it('does not start with jobs that would find nothing', async () => {
    // It may do the work of the sweeper, but sees single scopes.
    await database.query(
      `GRANT SELECT, INSERT, UPDATE ON idempotency_jobs TO ${database.roles.application}`,
    );
    const off = { reaper: false, completer: false, reconciler: false, outbox: false };
    const error = await boot('application', { rowLevelSecurity: true, maintenance: off });
    expect(error.message).toMatch(
      /the jobs of this process would find nothing.*maintenance: false/,
    );
  });

  it('does not start where the policies are missing', async () => {
    const other = await createRoleDatabase();
    const error = await bootFailure({
      database: other,
      dataSource: other.as('application'),
      idempotency: { scope: tenantOf, maintenance: false, rowLevelSecurity: true },
    });
    expect(error.message).toMatch(/row-level security is off.*idempotencyGrants/);
    await other.drop();
  });
});
