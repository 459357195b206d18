import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ orders: {}, kept: { retention: 'forever' } });

forEachPlatform('Answers removed by an operator', (platform) => {
  let app: IdempotentApp;
  let key: string;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    key = randomUUID();
    routes.answers((execution) => ({ execution }));
  });
  const ask = (path = 'orders') => send(`${app.url}/${path}`, { key });
  const idOf = async () => (await keyRow(app.database, key)).id as string;

  it('are forgotten after evict, and the key starts a new operation', async () => {
    await ask();
    const evicted = await idOf();
    expect(await operatorOf(app).evict(evicted, 'support')).toMatchObject({ changed: true });
    expect((await ask()).json()).toEqual({ execution: 2 });
    expect(await operatorOf(app).evict(evicted, 'support')).toMatchObject({
      changed: false,
      reason: 'not_found',
    });
  });

  it.each(['orders', 'kept'])('are gone after expire: 410 (route %s)', async (path) => {
    await ask(path);
    const id = await idOf();
    expect(await operatorOf(app).expire(id, 'support')).toMatchObject({ changed: true });
    expect((await ask(path)).json()).toMatchObject({ status: 410, code: 'expired' });
    expect(routes.executions).toBe(1);
    expect(await keyRow(app.database, key)).toMatchObject({
      status: 'expired',
      response_status: null,
      response_headers: null,
      response_body: null,
      expires_at: path === 'kept' ? null : expect.any(Date),
    });

    await operatorOf(app).evict(id, 'support');
    expect((await ask(path)).json()).toEqual({ execution: 2 });
  });

  it('become 408 if the key was open, and its retries get that', async () => {
    routes.answers(() => {
      throw new Error('a bug');
    });
    expect((await ask()).status).toBe(500);
    await operatorOf(app).expire(await idOf(), 'support');
    for (const retry of [await ask(), await ask()]) {
      expect(retry.json()).toMatchObject({ status: 408, code: 'unfinished', retryable: false });
      expect(retry.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(routes.executions).toBe(1);
  });
});
