import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { resolveLimits } from '../../lib/limits/resolve-limits.js';
import { usageParameters, usageSql } from '../../lib/limits/usage-store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { planOf, readsOf } from '../support/plans.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, LOOK_UP, RESERVE } from '../support/store-statements.js';

const COUNT = /pg_column_size/;

forEachPlatform('The cost of limits', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  const apps: Record<string, ProxiedApp> = {};
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    const start = (limits?: object) =>
      startProxiedApp(platform, {
        controllers: [routes.controller],
        idempotency: { ...(limits && { limits }) },
        database,
      });
    apps.without = await start();
    apps.rate = await start({ newKeysPerSecond: 10_000, waiting: 10 });
    apps.all = await start({
      newKeysPerSecond: 10_000,
      outstanding: 1_000,
      waiting: 10,
      storedKeys: 100_000,
      storedBytes: 100_000_000,
    });
  });
  afterAll(async () => {
    for (const app of Object.values(apps)) await app.close();
    await database.drop();
  });
  beforeEach(() => routes.answers((execution) => ({ execution })));

  /** The statements of ten new keys, one after the other, and of a retry of each. */
  async function statementsOf(name: string): Promise<string[]> {
    const { url, proxy } = apps[name]!;
    const keys = Array.from({ length: 10 }, (_, n) => `${name}-${n}`);
    for (const key of keys) await send(`${url}/orders`, { key });
    for (const key of keys) await send(`${url}/orders`, { key });
    const kinds = { reserve: RESERVE, lookUp: LOOK_UP, finish: FINISH, count: COUNT };
    return proxy.statements.flatMap(({ sql }) => {
      const kind = Object.entries(kinds).find(([, pattern]) => pattern.test(sql));
      return kind && /idempotency_keys/.test(sql) ? [kind[0]] : [];
    });
  }

  it('on a rate and on waiting is no statement, and one count in ten seconds on what is stored', async () => {
    const without = await statementsOf('without');
    expect(without.filter((kind) => kind === 'finish')).toHaveLength(10);
    expect(await statementsOf('rate')).toEqual(without);
    const all = await statementsOf('all');
    expect(all.filter((kind) => kind !== 'count')).toEqual(without);
    // A slow run takes longer than a count is good for.
    expect(all.filter((kind) => kind === 'count').length).toBeLessThan(10);
  });
});

describe('The count of what a scope has', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, resume_after)
       SELECT CASE WHEN n % 2 = 0 THEN 'large' ELSE 'scope-' || n % 100 END, n::text, '', gen_random_uuid(), 'completed', now(),
              CASE WHEN n % 400 = 0 THEN now() END
       FROM generate_series(1, 20000) n`,
    );
    await database.query('VACUUM ANALYZE idempotency_keys');
  });
  afterAll(() => database.drop());

  it.each(['large', 'scope-7', 'never seen'])(
    'follows indexes and stops early: %s',
    async (scope) => {
      const limits = resolveLimits('here', { outstanding: 10, storedKeys: 100 });
      const [row] = await database.query(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${usageSql('idempotency_keys')}`,
        usageParameters(scope, limits),
      );
      const reads = readsOf(planOf(row), 'idempotency_keys');
      expect(reads.length).toBeGreaterThan(1);
      for (const read of reads) {
        expect(read['Node Type']).toMatch(/Index|Bitmap/);
        expect((read as { 'Actual Rows'?: number })['Actual Rows']).toBeLessThanOrEqual(101);
      }
    },
  );
});
