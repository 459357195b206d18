import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';

/** So long that no test sees the end of it. */
const idempotency = {
  replayCache: { ttl: '1h' },
  scope: (request: { headers: Record<string, string> }) => request.headers['x-user'],
};

forEachPlatform('Replays from memory', (platform) => {
  const routes = new PolicyRoutes({ orders: {}, lenient: { onMismatch: 'replay' } });
  let app: ProxiedApp;
  let elsewhere: IdempotentApp;
  let key: string;

  beforeAll(async () => {
    const controllers = [routes.controller];
    app = await startProxiedApp(platform, { controllers, idempotency, logger: false });
    const { database } = app;
    elsewhere = await startIdempotentApp(platform, {
      controllers,
      idempotency,
      database,
      logger: false,
    });
  });
  afterAll(async () => {
    await elsewhere.close();
    await app.close();
  });
  beforeEach(() => {
    key = randomUUID();
    routes.answers((execution) => ({ execution, at: randomUUID() }));
  });

  const order = (
    path = 'orders',
    item = 'rocket',
    user = 'ada',
    { url } = app as { url: string },
  ) => send(`${url}/${path}`, { key, body: { item }, headers: { 'x-user': user } });

  /** What an application sends to the database while `work` runs. */
  async function statementsDuring(work: () => Promise<unknown>): Promise<number> {
    const before = app.proxy.statements.length;
    await work();
    return app.proxy.statements.length - before;
  }

  it('read a finished key once for a burst of retries, and each gets the same bytes', async () => {
    const first = await order();
    const read = await order();
    expect(
      await statementsDuring(async () => {
        for (const retry of await Promise.all(Array.from({ length: 20 }, () => order()))) {
          expect(retry.status).toBe(201);
          expect(retry.body).toEqual(first.body);
          const { date: _, ...headers } = Object.fromEntries(retry.headers);
          const { date: __, ...expected } = Object.fromEntries(read.headers);
          expect(headers).toEqual(expected);
        }
      }),
    ).toBe(0);
    expect(routes.executions).toBe(1);
  });

  it('still compare the fingerprint', async () => {
    await order();
    await order();
    const other = await order('orders', 'boat');
    expect(other.json()).toMatchObject({ status: 422, code: 'key_reused' });

    key = randomUUID();
    const first = await order('lenient');
    await order('lenient');
    expect((await order('lenient', 'boat')).body).toEqual(first.body);
  });

  it('compare every part of a retry, after others that repeated it to the letter', async () => {
    const first = await order();
    await order();
    await order();
    const retry = (path: string, body: string, headers = {}) =>
      send(`${app.url}/${path}`, { key, body, headers: { 'x-user': 'ada', ...headers } });
    const same = '{"item":"rocket"}';
    const others = await Promise.all([
      retry('orders', '{"item":"rockets"}'),
      retry('orders', '{"item":null}'),
      retry('orders', '{"item":1e999}'),
      retry('orders', '{"item":"rocket","amount":1}'),
      retry('orders?a=1', same),
      retry('lenient', same),
    ]);
    expect(others.map(({ status }) => status)).toEqual([422, 422, 400, 422, 422, 201]);
    // The last route replays what does not match, as it was told.
    expect(others.at(-1)?.body).toEqual(first.body);
    // White space and parameters of the media type do not count.
    const spaced = await retry('orders', '{ "item": "rocket" }');
    const withCharset = await retry('orders', same, {
      'content-type': 'application/json; charset=utf-8',
    });
    expect([spaced.body, withCharset.body]).toEqual([first.body, first.body]);
    expect(routes.executions).toBe(1);
  });

  it('never give the key of another caller', async () => {
    const ofAda = await order();
    await order();
    const ofGrace = await order('orders', 'rocket', 'grace');
    expect(ofGrace.headers.get('idempotent-replayed')).toBeNull();
    expect(ofGrace.body).not.toEqual(ofAda.body);
  });

  it('end at once after an eviction in this process', async () => {
    await order();
    await order();
    const { id } = await keyRow(app.database, key);
    expect(await operatorOf(app).evict(id, 'support')).toMatchObject({ changed: true });
    expect((await order()).json()).toMatchObject({ execution: 2 });
  });

  it('end after an eviction in another process when their time is up, and not before', async () => {
    const first = await order();
    await order();
    const { id } = await keyRow(app.database, key);
    expect(await operatorOf(elsewhere).evict(id, 'support')).toMatchObject({ changed: true });
    expect((await order()).body).toEqual(first.body);
    expect((await order('orders', 'rocket', 'ada', elsewhere)).json()).toMatchObject({
      execution: 2,
    });
  });

  it('are not made for a key that is not finished', async () => {
    routes.answers(() => {
      throw new Error('a bug');
    });
    expect((await order()).status).toBe(500);
    expect((await order()).status).toBe(500);
    expect(routes.executions).toBe(2);
  });
});
