import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { shortLease } from '../support/cluster.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { HEARTBEAT } from '../support/store-statements.js';
import { until } from '../support/until.js';

const KEYS = 25;

forEachPlatform('Heartbeats', (platform) => {
  const routes = new PolicyRoutes({ orders: { lease: shortLease(600) } });
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

    const leases = () =>
      app.database.query<{ first: string; last: string; until: Date }>(
        `SELECT min(key) AS first, max(key) AS last, locked_until AS until
         FROM idempotency_keys GROUP BY locked_until HAVING count(*) = ${KEYS}`,
      );
    // One statement has one time: all rows agree to the microsecond.
    const seen = new Set<number>();
    await until(async () => {
      const [together] = await leases();
      if (together) seen.add(together.until.getTime());
      return seen.size >= 3;
    }, 'three renewals of all keys together');

    gate.open();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(201);
  });

  it('are not sent while nothing runs', async () => {
    const first = send(`${app.url}/orders`, { key: 'alone' });
    await gate.arrived();
    const before = app.proxy.count(HEARTBEAT);
    await until(() => app.proxy.count(HEARTBEAT) > before, 'a heartbeat');
    gate.open();
    await first;

    const statements = app.proxy.count(HEARTBEAT);
    // Long enough for several ticks, as the database's clock tells.
    const [start] = await app.database.query<{ now: Date }>('SELECT now()');
    await until(async () => {
      const [row] = await app.database.query(
        `SELECT now() > $1::timestamptz + interval '1 second' AS over`,
        [start!.now],
      );
      return row!.over;
    }, 'time for five heartbeats');
    expect(app.proxy.count(HEARTBEAT)).toBe(statements);
  });
});
