import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyHealthIndicator } from 'nestjs-atomic-idempotency';
import { HealthStore } from '../../lib/operator/health-store.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { planOf } from '../support/plans.js';
import { forEachPlatform, onEachPlatform } from '../support/platforms.js';
import { startProxiedApp } from '../support/proxied-app.js';

const LOOK = /"outboxLag"/;

forEachPlatform('A probe', (platform) => {
  it('shares one look at the database with those beside it, and with those of the next seconds', async () => {
    const app = await startProxiedApp(platform, { logger: false });
    const health = app.app.get(IdempotencyHealthIndicator);
    const held = app.proxy.holdReply(LOOK);
    const probes = [health.check(), health.check(), health.check('other')];
    await held.reached;
    held.release();
    const results = await Promise.all(probes);
    expect(results.map((result) => Object.keys(result))).toEqual([
      ['idempotency'],
      ['idempotency'],
      ['other'],
    ]);
    await health.check();
    expect(app.proxy.count(LOOK)).toBe(1);

    await health.check('idempotency', { maxAge: 0 });
    expect(app.proxy.count(LOOK)).toBe(2);
    await app.close();
  });

  it('is given up after storeTimeout, and its statement is cancelled', async () => {
    const app = await startProxiedApp(platform, {
      logger: false,
      idempotency: { storeTimeout: 300 },
    });
    const client = await app.database.pool.connect();
    await client.query('BEGIN; LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE');
    const { idempotency } = await app.app.get(IdempotencyHealthIndicator).check();
    expect(idempotency).toMatchObject({ status: 'down' });
    await client.query('ROLLBACK');
    client.release();
    await app.close();
  });
});

describe('The statement of the health check', () => {
  onEachPlatform((platform) => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { logger: false });
      const { database } = app;
      await database.query(
        `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, reconcile_after, expires_at)
         SELECT '', n::text, '', gen_random_uuid(), CASE WHEN n % 100 = 0 THEN 'unknown' ELSE 'completed' END, now(),
                CASE WHEN n % 200 = 0 THEN 'infinity'::timestamptz WHEN n % 100 = 0 THEN now() END,
                now() + (n - 10000) * interval '1 second'
         FROM generate_series(1, 20000) n`,
      );
      await database.query(
        `INSERT INTO idempotency_outbox (id, topic, available_at, dead_at)
         SELECT gen_random_uuid(), 'mail', now() - n * interval '1 second', CASE WHEN n % 2 = 0 THEN now() END
         FROM generate_series(1, 20000) n`,
      );
      await database.query('ANALYZE');
    });
    afterAll(() => app.close());

    it('reads keys and messages by indexes alone', async () => {
      const statement = app.app.get(HealthStore, { strict: false }).statement();
      const [row] = await app.database.query(`EXPLAIN (FORMAT JSON) ${statement}`, [[]]);
      const plan = planOf(row);
      // A bitmap takes its rows from an index too.
      const reads = plan.filter((node) => /^(Index|Bitmap Index)/.test(node['Node Type']));
      expect(reads).toHaveLength(3);
      expect(plan.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    });
  });
});
