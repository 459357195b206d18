import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send, type Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { RESERVE } from '../support/store-statements.js';

forEachPlatform('A database that is down', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: { storeTimeout: '3s' },
    });
  });
  afterAll(() => app.close());
  beforeEach(() => routes.answers((execution) => ({ execution })));

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  it('lets no request run, and lets it run once when it is back', async () => {
    await app.proxy.refuse();
    expectRetryable(await order('down'), 503, 'store_unavailable');
    expect(routes.executions).toBe(0);

    await app.proxy.accept();
    const answer = await order('down');
    expect(answer.status).toBe(201);
    expect((await order('down')).body).toEqual(answer.body);
    expect(routes.executions).toBe(1);
  });

  it('lets no answer be replayed that cannot be read', async () => {
    const first = await order('recorded');
    await app.proxy.refuse();
    expectRetryable(await order('recorded'), 503, 'store_unavailable');

    await app.proxy.accept();
    const retry = await order('recorded');
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.body).toEqual(first.body);
    expect(routes.executions).toBe(1);
  });

  it('is waited for within storeTimeout', async () => {
    await order('warm-up');
    const lost = app.proxy.loseStatement(RESERVE);
    const answer = order('restarted');
    await lost;
    app.proxy.cut();

    expect((await answer).status).toBe(201);
    expect(routes.executions).toBe(2);
  });
});
