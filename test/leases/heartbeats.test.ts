import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { HEARTBEAT } from '../support/store-statements.js';
import { until } from '../support/until.js';

const KEYS = 25;

// Nothing here is about requests, so one adapter will do.
forEachPlatform(
  'Heartbeats',
  (platform) => {
    const routes = new PolicyRoutes({ orders: {}, 'short-leased': { lease: '5s' } });
    let app: ProxiedApp;
    let gate: Barrier;

    beforeAll(async () => {
      app = await startProxiedApp(platform, { controllers: [routes.controller] });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      gate = barrier();
      routes.answers(() => gate.pass());
    });

    it('renew all leases of a process with one statement', async () => {
      const answers = Array.from({ length: KEYS }, (_, i) =>
        send(`${app.url}/orders`, { key: `order-${i}` }),
      );
      await gate.arrived(KEYS);

      let last = 0;
      for (let times = 0; times < 3; times++) {
        await heartbeat(app.app);
        // One statement has one time: all rows agree to the microsecond.
        const leases = await app.database.query<{ count: number; until: number }>(
          `SELECT count(*)::int, extract(epoch FROM locked_until)::float8 AS until
           FROM idempotency_keys GROUP BY locked_until`,
        );
        expect(leases).toEqual([{ count: KEYS, until: expect.any(Number) }]);
        expect(leases[0]!.until).toBeGreaterThan(last);
        last = leases[0]!.until;
      }

      gate.open();
      for (const answer of await Promise.all(answers)) expect(answer.status).toBe(201);
    });

    it('come by themselves, and not while nothing runs', async () => {
      const first = send(`${app.url}/short-leased`, { key: 'alone' });
      await gate.arrived();
      const before = app.proxy.count(HEARTBEAT);
      await until(() => app.proxy.count(HEARTBEAT) > before, 'a heartbeat');
      gate.open();
      await first;

      const statements = app.proxy.count(HEARTBEAT);
      // Long enough for a second one, as the database's clock tells.
      const [start] = await app.database.query<{ now: Date }>('SELECT now()');
      await until(async () => {
        const [row] = await app.database.query(
          `SELECT now() > $1::timestamptz + interval '2 seconds' AS over`,
          [start!.now],
        );
        return row!.over;
      }, 'time for a heartbeat');
      expect(app.proxy.count(HEARTBEAT)).toBe(statements);
    });
  },
  ['express'],
);
