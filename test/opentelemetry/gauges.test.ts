import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { GaugeReader } from '../../lib/opentelemetry/gauge-reader.js';
import { GaugeStore } from '../../lib/opentelemetry/gauge-store.js';
import { Database } from '../../lib/postgres/database.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { post, startObservedApp, type ObservedApp } from '../telemetry/observed-app.js';

const HOUR = 3_600_000;

forEachPlatform('Gauges', (platform) => {
  let app: ObservedApp;
  let store: GaugeStore;

  beforeAll(async () => {
    app = await startObservedApp(platform);
    store = new GaugeStore(app.app.get(Database, { strict: false }));
  });
  beforeEach(() =>
    app.database.query(
      'TRUNCATE idempotency_keys, idempotency_outbox, idempotency_jobs, idempotency_phases',
    ),
  );
  afterAll(() => app.close());

  it('are all zero where nothing waits', async () => {
    await post(app, 'orders', 'finished');
    expect(await store.read()).toEqual({
      asked: 0,
      askedAge: 0,
      left: 0,
      leftAge: 0,
      operationsDue: 0,
      messagesDue: 0,
      lag: 0,
      deadLetters: 0,
    });
  });

  it('tell unknown outcomes that are asked about from those left to people, with their age', async () => {
    await post(app, 'charges', 'asked-1');
    await post(app, 'charges', 'asked-2');
    await app.crash('reserved', 'orders', 'left');
    await app.post('orders', 'left');
    await app.database.query(
      `UPDATE idempotency_keys SET last_run_at = now() - interval '1 hour' WHERE key IN ('asked-2', 'left')`,
    );
    expect(await store.read()).toMatchObject({ asked: 3, left: 0 });
    await runJob(app, 'reconciler');
    const gauges = await store.read();
    expect(gauges).toMatchObject({ asked: 2, left: 1 });
    expect(gauges.askedAge).toBeCloseTo(3_600, -3);
    expect(gauges.leftAge).toBeCloseTo(3_600, -3);
  });

  it('show operations and messages that are due, the lag, and dead letters', async () => {
    await post(app, 'work/background', 'waiting');
    await post(app, 'work/now', 'message');
    await app.database.query(
      `UPDATE idempotency_outbox SET available_at = now() - interval '1 hour'`,
    );
    const gauges = await store.read();
    expect(gauges).toMatchObject({ operationsDue: 1, messagesDue: 1, deadLetters: 0 });
    expect(gauges.lag).toBeCloseTo(3_600, -3);
    await app.database.query('UPDATE idempotency_outbox SET dead_at = now()');
    expect(await store.read()).toMatchObject({ messagesDue: 0, lag: 0, deadLetters: 1 });
  });

  it('are read along partial indexes, however many keys there are', async () => {
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, status, expires_at)
       SELECT 'many', n::text, '', gen_random_uuid(), now(), 'completed', now()
       FROM generate_series(1, 20000) n`,
    );
    await app.database.query(
      `INSERT INTO idempotency_outbox (id, topic, available_at, dead_at)
       SELECT gen_random_uuid(), 'many', now() + interval '1 day',
              CASE WHEN n % 100 = 0 THEN now() END
       FROM generate_series(1, 20000) n`,
    );
    await app.database.query('ANALYZE idempotency_keys, idempotency_outbox');
    const plan = await app.database.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN ${store.sql.replaceAll('$1', '10000')}`,
    );
    const lines = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(lines).toContain('Index');
    expect(lines).not.toContain('Seq Scan');
  });

  it('belong to one process at a time, which keeps them until it stops', async () => {
    const first = new GaugeReader(store, HOUR);
    const second = new GaugeReader(store, HOUR);
    await first.readOnce();
    await second.readOnce();
    await first.readOnce();
    expect(first.latest).toBeDefined();
    expect(second.latest).toBeUndefined();

    await first.stop();
    await second.readOnce();
    expect(first.latest).toBeUndefined();
    expect(second.latest).toBeDefined();
    await second.stop();
  });

  it('go to another process when theirs has died', async () => {
    const dead = new GaugeReader(store, HOUR);
    await dead.readOnce();
    await app.database.query('UPDATE idempotency_jobs SET claimed_until = now()');
    const next = new GaugeReader(store, HOUR);
    await next.readOnce();
    await dead.readOnce();
    expect(next.latest).toBeDefined();
    expect(dead.latest).toBeUndefined();
    await next.stop();
  });
});
