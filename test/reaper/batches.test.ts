import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Maintenance } from 'nestjs-atomic-idempotency';
import { onCluster } from '../support/cluster.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { forEachPlatform } from '../support/platforms.js';
import { withTransaction } from '../support/transactions.js';
import { until } from '../support/until.js';
import { startExpiringApp, type ExpiringApp } from './expiring-app.js';

const MAINTENANCE = { sweeper: false, completer: false, reconciler: false, outbox: false } as const;

forEachPlatform('Batches', (platform) => {
  let database: TestDatabase;
  let one: ExpiringApp;
  let other: ExpiringApp;
  beforeAll(async () => {
    database = await createTestDatabase();
    const options = {
      database,
      idempotency: { maintenance: { ...MAINTENANCE, reaper: { batch: 10, interval: '1h' } } },
    };
    one = await startExpiringApp(platform, options);
    other = await startExpiringApp(platform, options);
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await database.drop();
  });
  beforeEach(() => database.query('TRUNCATE idempotency_keys, idempotency_phases'));

  /** Finished keys, of which the first `expired` are past their retention. */
  async function insert(count: number, expired: number): Promise<void> {
    await database.query(
      `INSERT INTO idempotency_keys
         (scope, key, fingerprint, owner, locked_until, status, created_at, completed_at, expires_at)
       SELECT '', 'key-' || n, '', gen_random_uuid(), now(), 'completed', now() - interval '1 day',
              now() - interval '1 day', now() + (n - $2 - 0.5) * interval '1 minute'
       FROM generate_series(1, $1::int) n`,
      [count, expired],
    );
  }
  const count = async () => Object.keys(await one.left()).length;

  describe('The reaper', () => {
    it('takes a batch at a time, the longest expired first', async () => {
      await insert(30, 25);
      expect(await one.reap()).toBe(10);
      expect(await count()).toBe(20);
      expect(Object.keys(await one.left())).not.toContain('key-10');
      expect(await one.reap()).toBe(10);
      expect(await one.reap()).toBe(5);
      expect(await one.reap()).toBe(0);
      expect(await count()).toBe(5);
    });

    it('continues by itself while there is more than a batch', async () => {
      await insert(60, 55);
      // Woken once; the rest is up to it.
      one.app.get(Maintenance, { strict: false }).wake('reaper');
      await until(async () => (await count()) === 5);
    });

    it('does not wait for a locked row, and handles it later', async () => {
      await insert(15, 15);
      await withTransaction(database, async (tx) => {
        await tx.query(
          `SELECT FROM idempotency_keys WHERE scope = '' AND key = 'key-1' FOR UPDATE`,
        );
        // On a cluster what is due is found before it is claimed, and the locked row is found too.
        const batches = onCluster ? [9, 5] : [10, 4];
        for (const rows of batches) expect(await one.reap()).toBe(rows);
      });
      expect(await one.left()).toEqual({ 'key-1': 'completed' });
      expect(await one.reap()).toBe(1);
    });

    it('shares the work with other processes, and no row is handled twice', async () => {
      await insert(100, 80);
      const handled: number[] = [];
      const work = async (app: ExpiringApp) => {
        for (let empty = 0; empty < 2;) {
          const rows = await app.reap();
          handled.push(rows);
          empty = rows === 0 ? empty + 1 : 0;
        }
      };
      await Promise.all([work(one), work(other)]);
      expect(handled.reduce((sum, rows) => sum + rows, 0)).toBe(80);
      expect(await count()).toBe(20);
    });
  });
});
