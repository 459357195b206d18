import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { send, type Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { RESERVE } from '../support/store-statements.js';

forEachPlatform('An exhausted pool', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      dataSource: { extra: { max: 1 } },
      idempotency: { storeTimeout: '1s' },
    });
    routes.answers((execution) => ({ execution }));
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  it('refuses a request if no connection is free in time, and never sends its statement', async () => {
    const before = app.proxy.statements.length;
    const onlyConnection = app.app.get(DataSource).createQueryRunner();
    await onlyConnection.connect();
    try {
      const [first, second] = await Promise.all([order('queued'), order('queued-too')]);
      expectRetryable(first, 503, 'store_unavailable');
      expectRetryable(second, 503, 'store_unavailable');
    } finally {
      await onlyConnection.release();
    }
    expect(routes.executions).toBe(0);

    // Behind the two in the queue of the pool: once it is through, so are they.
    expect((await order('bystander')).status).toBe(201);
    const sent = app.proxy.statements.slice(before);
    expect(sent).toHaveLength(2);
    expect(sent[0]!.sql).toMatch(RESERVE);
    expect(await app.database.query('SELECT key FROM idempotency_keys')).toEqual([
      { key: 'bystander' },
    ]);

    expect((await order('queued')).status).toBe(201);
    expect(routes.executions).toBe(2);
  });
});
