import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, RESERVE } from '../support/store-statements.js';

forEachPlatform('Requests without batches', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      // A proxy that pools transactions would have a prepared statement repeated, and it would count twice.
      idempotency: { batching: false, preparedStatements: false },
    });
  });
  afterAll(() => app.close());

  it('have statements of their own, also when many come at once', async () => {
    routes.answers((execution) => ({ execution }));
    const before = app.proxy.statements.length;
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
    const twice = [...keys, ...keys].map((key) => send(`${app.url}/orders`, { key }));
    const statuses = (await Promise.all(twice)).map(({ status }) => status);

    expect(routes.executions).toBe(20);
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(20);
    expect(statuses.every((status) => status === 201 || status === 409)).toBe(true);
    const sent = app.proxy.statements.slice(before).map(({ sql }) => sql);
    expect(sent.filter((sql) => RESERVE.test(sql))).toHaveLength(40);
    expect(sent.filter((sql) => FINISH.test(sql))).toHaveLength(20);
    for (const key of keys) expect((await send(`${app.url}/orders`, { key })).status).toBe(201);
    expect(routes.executions).toBe(20);
  });
});
