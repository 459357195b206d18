import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { IdempotencyHealthIndicator, Outbox } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send, type Sending } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { onEachPlatform } from '../support/platforms.js';
import { createRoleDatabase, type RoleDatabase, type RoleName } from '../support/roles.js';
import { until } from '../support/until.js';
import { Orders, shop, ShopController, tenantOf } from './shop.js';

const JOBS = ['sweeper', 'completer', 'reconciler', 'reaper', 'outbox'] as const;

let database: RoleDatabase;
beforeAll(async () => {
  database = await createRoleDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  shop.gate = barrier();
  shop.charge = () => ({ id: 'ch_1' });
  shop.delivered = [];
});

/** An order whose charge is in doubt. */
async function orderInDoubt(app: IdempotentApp, key: string): Promise<Record<string, any>> {
  shop.charge = () => {
    throw new Error('no answer');
  };
  shop.found = { outcome: 'unknown' };
  const sending = { key, body: { name: key } };
  expect((await send(`${app.url}/orders`, sending)).status).toBe(409);
  shop.charge = () => ({ id: 'ch_1' });
  shop.found = { outcome: 'executed', result: { id: 'found' } };
  const [phase] = await database.query(
    `SELECT p.effect_key FROM idempotency_phases p
     JOIN idempotency_keys k ON k.scope = p.scope AND k.id = p.key_id
     WHERE k.key = $1 AND p.name = 'charged'`,
    [key],
  );
  return { ...(await keyRow(database, key)), ...phase };
}

/** Those of these statements that the role may run. */
async function allowed(role: RoleName, ...statements: string[]): Promise<string[]> {
  const run: string[] = [];
  for (const sql of statements) {
    await database.ask(role, sql).then(
      () => run.push(sql),
      (error: { code?: string }) => error.code !== '42501' && run.push(sql),
    );
  }
  return run;
}

describe("The application's role", () => {
  onEachPlatform((platform) => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        database,
        dataSource: database.as('application'),
        controllers: [ShopController],
        providers: [Orders],
        idempotency: { scope: tenantOf },
        logger: false,
      });
    });
    afterAll(() => app.close());

    const ask = (path: string, key: string, sending: Sending = {}) =>
      send(`${app.url}/${path}`, { key: `${platform.name}-${key}`, ...sending });

    it('runs, replays, refuses, forgets and takes over keys', async () => {
      expect((await ask('plain', 'k')).status).toBe(201);
      expect((await ask('plain', 'k')).headers.get('idempotent-replayed')).toBe('true');
      expect((await ask('plain', 'k', { body: { other: true } })).status).toBe(422);
      await database.query(`UPDATE idempotency_keys SET expires_at = now() WHERE scope = 'a'`);
      expect((await ask('plain', 'k')).headers.get('idempotent-replayed')).toBeNull();
      expect((await ask('plain', 'f', { body: { fail: true } })).status).toBe(500);
      expect((await ask('plain', 'f', { body: { fail: true } })).status).toBe(500);
      expect((await keyRow(database, `${platform.name}-f`)).attempt).toBe(2);
    });

    it('keeps a lease, wakes a duplicate and loses a lease', async () => {
      const waiting = { body: { wait: true } };
      const first = ask('plain', 'w', waiting);
      await shop.gate.arrived();
      const until1 = (await keyRow(database, `${platform.name}-w`)).locked_until;
      const second = ask('plain', 'w', waiting);
      await until(
        async () => (await keyRow(database, `${platform.name}-w`)).locked_until > until1,
        'a heartbeat',
      );
      shop.gate.open();
      expect((await first).text).toBe((await second).text);
    });

    it('commits phases with the data of the application and a message', async () => {
      const answer = await ask('orders', 'p', { body: { name: `${platform.name}-p` } });
      expect(answer.json()).toEqual({ id: 'ch_1' });
      expect(
        await database.query('SELECT note FROM notes WHERE note = $1', [`${platform.name}-p`]),
      ).toHaveLength(1);
      expect((await ask('later', 'l', { body: { name: 'l' } })).status).toBe(202);
    });

    it('lets a webhook resolve what is in doubt', async () => {
      const key = `${platform.name}-d`;
      const { effect_key: effectKey } = await orderInDoubt(app, key);
      const { json } = await send(`${app.url}/webhook`, { body: { effectKey } });
      expect(json()).toMatchObject({ changed: true });
      expect((await ask('orders', 'd', { body: { name: key } })).json()).toEqual({ id: 'ch_2' });
    });

    it('answers the health check', async () => {
      const health = await app.app.get(IdempotencyHealthIndicator, { strict: false }).check();
      expect(health.idempotency).toMatchObject({ status: 'up', outboxLag: expect.any(Number) });
    });

    it('may not read messages, change the audit, or do the work of the jobs', async () => {
      expect(
        await allowed(
          'application',
          'SELECT payload FROM idempotency_outbox',
          'DELETE FROM idempotency_outbox',
          'UPDATE idempotency_audit SET who = who',
          'DELETE FROM idempotency_audit',
          'SELECT FROM idempotency_jobs',
          'TRUNCATE idempotency_keys',
          'DROP TABLE idempotency_keys',
        ),
      ).toEqual([]);
    });
  });
});

describe("The worker's role", () => {
  let app: IdempotentApp;
  let api: IdempotentApp;
  onEachPlatform(
    (platform) => {
      beforeAll(async () => {
        const shared = { database, providers: [Orders], logger: false as const };
        api = await startIdempotentApp(platform, {
          ...shared,
          dataSource: database.as('application'),
          controllers: [ShopController],
          idempotency: { scope: tenantOf },
        });
        app = await startIdempotentApp(platform, {
          ...shared,
          dataSource: database.as('worker'),
          // Jobs that run when the test says so.
          idempotency: {
            scope: tenantOf,
            maintenance: Object.fromEntries(JOBS.map((job) => [job, { interval: '20d' }])),
          },
        });
      });
      afterAll(async () => {
        await app.close();
        await api.close();
      });

      it('boots without the right to reserve keys', async () => {
        expect(
          await allowed(
            'worker',
            `INSERT INTO idempotency_keys (scope, key) VALUES ('a', 'b')`,
            'UPDATE idempotency_audit SET who = who',
            'DELETE FROM idempotency_audit',
          ),
        ).toEqual([]);
      });

      it('completes, sweeps, reconciles, delivers and reaps', async () => {
        expect((await send(`${api.url}/later`, { key: 'bg', body: { name: 'bg' } })).status).toBe(
          202,
        );
        await runJob(app, 'completer');
        expect(await keyRow(database, 'bg')).toMatchObject({ status: 'performed' });

        const { id } = await orderInDoubt(api, 'asked');
        await runJob(app, 'reconciler');
        await runJob(app, 'completer');
        // The reconciler has woken the completer, which may have been first.
        const inspected = () => operatorOf(app).inspect(id as string);
        await until(async () => (await inspected())!.status === 'performed', 'the completer');

        await send(`${api.url}/plain`, { key: 'dead' });
        await database.query(
          `UPDATE idempotency_keys SET status = 'in_progress', completed_at = NULL WHERE key = 'dead'`,
        );
        await lapse(database, 'dead');
        await runJob(app, 'sweeper');
        expect(await keyRow(database, 'dead')).toMatchObject({ status: 'failed_retryable' });

        await runJob(app, 'outbox');
        expect(shop.delivered).toContainEqual({ name: 'bg' });

        await database.query(
          `UPDATE idempotency_keys SET expires_at = now(), resume_after = NULL,
             on_expired = CASE WHEN key = 'bg' THEN 'gone' END`,
        );
        await runJob(app, 'reaper');
        expect(await keyRow(database, 'bg')).toMatchObject({ status: 'expired' });
        expect(await keyRow(database, 'dead')).toMatchObject({ status: 'completed' });
        await expect(keyRow(database, 'asked')).rejects.toThrow('no row');
      });

      it('lets people decide', async () => {
        const operator = operatorOf(app);
        for (const key of ['e', 'x']) await send(`${api.url}/plain`, { key });
        const [e, x] = [await keyRow(database, 'e'), await keyRow(database, 'x')];
        expect(await operator.hold(e.id as string, 'ada')).toMatchObject({ changed: true });
        expect(await operator.releaseHold(e.id as string, 'ada')).toMatchObject({ changed: true });
        expect(await operator.evict(e.id as string, 'ada')).toMatchObject({ changed: true });
        expect(await operator.expire(x.id as string, 'ada')).toMatchObject({ changed: true });
        const { id } = await orderInDoubt(api, 'again');
        expect(await operator.retry(id as string, 'ada')).toMatchObject({ changed: true });
        await database.query('UPDATE idempotency_outbox SET dead_at = now()');
        const outbox = app.app.get(Outbox, { strict: false });
        const [letter] = await outbox.deadLetters();
        expect(await outbox.requeue(letter!.id, 'ada')).toBe(true);
      });
    },
    ['express'],
  );
});

describe("The operator's role", () => {
  let app: IdempotentApp;
  onEachPlatform(
    (platform) => {
      beforeAll(async () => {
        // As on a standby: nothing can be written at all.
        await database.query(
          `ALTER ROLE ${database.roles.operator} SET default_transaction_read_only = on`,
        );
        const options = {
          database,
          dataSource: database.as('operator'),
          idempotency: {
            scope: tenantOf,
            readOnly: true,
            maintenance: undefined,
            operatorPage: { path: 'operator', access: () => ({ who: 'ada', may: 'all' }) },
          },
          logger: false as const,
        };
        app = await startIdempotentApp(platform, options as object);
      });
      afterAll(() => app.close());

      it('reads everything that an operator reads', async () => {
        const operator = operatorOf(app);
        await database.query(
          `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, status, reconcile_after)
           VALUES ('a', 'seen', '', gen_random_uuid(), now(), 'unknown', 'infinity')`,
        );
        const [key] = (await operator.find({ scope: 'a', key: 'seen' })).keys;
        expect((await operator.inspect(key!.id))!.status).toBe('unknown');
        expect(await operator.jobs()).toEqual(expect.any(Array));
        let lines = 0;
        for await (const _line of operator.export('a')) lines += 1;
        expect(lines).toBeGreaterThan(2);
        const health = await app.app.get(IdempotencyHealthIndicator, { strict: false }).check();
        expect(health.idempotency.status).toBe('up');
        expect(await operator.resolveKey(key!.id, { outcome: 'retryable' }, 'ada')).toMatchObject({
          changed: false,
          reason: 'read_only',
        });
      });

      it('shows the operator page, on which nothing can be decided', async () => {
        const { id } = await keyRow(database, 'seen');
        for (const path of ['operator', 'operator/keys', `operator/key?id=${String(id)}`]) {
          const page = await send(`${app.url}/${path}`, { method: 'GET' });
          expect([path, page.status]).toEqual([path, 200]);
        }
        const page = await send(`${app.url}/operator/key?id=${String(id)}`, { method: 'GET' });
        expect(page.text).toContain('You may read this, but not change it.');
      });

      it('may not write anywhere', async () => {
        expect(
          await allowed(
            'operator',
            'UPDATE idempotency_keys SET status = status',
            'DELETE FROM idempotency_keys',
            'INSERT INTO idempotency_processes (id) VALUES (gen_random_uuid())',
            'DELETE FROM idempotency_outbox',
            'DELETE FROM idempotency_audit',
          ),
        ).toEqual([]);
      });
    },
    ['express'],
  );
});
