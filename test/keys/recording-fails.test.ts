import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { keyRow, lapse } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { FINISH } from '../support/store-statements.js';

forEachPlatform('A recording that fails', (platform) => {
  const routes = new PolicyRoutes({ orders: {}, 'short-leased': { lease: '1s' } });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: { storeTimeout: '1s' },
      logger: false,
    });
  });
  afterAll(() => app.close());

  function order(key: string, path = 'orders'): Promise<Received> {
    return send(`${app.url}/${path}`, { key, body: {} });
  }

  it('holds the answer and is repeated until the database accepts it', async () => {
    routes.answers((execution) => ({ execution }));
    const failures = [1, 2, 3].map(() => app.proxy.loseStatement(FINISH));
    let answered = false;
    const first = order('insistent').finally(() => (answered = true));

    await Promise.all(failures);
    expect(answered).toBe(false);
    expect(await keyRow(app.database, 'insistent')).toMatchObject({ status: 'in_progress' });

    const answer = await first;
    expect(answer.status).toBe(201);
    expect(answer.json()).toEqual({ execution: 1 });
    expect(await keyRow(app.database, 'insistent')).toMatchObject({ status: 'completed' });
    const retry = await order('insistent');
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.body).toEqual(answer.body);
    expect(routes.executions).toBe(1);
  });

  it('for good refuses the request, and the handler does not run again', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
    const first = order('unrecorded', 'short-leased');
    await gate.arrived();
    await app.proxy.refuse();
    gate.open();
    expectRetryable(await first, 503, 'store_unavailable');

    await app.proxy.accept();
    // The key was not released: it still belongs to the attempt that ran.
    expect(await keyRow(app.database, 'unrecorded')).toMatchObject({ status: 'in_progress' });
    await lapse(app.database, 'unrecorded');
    expectRetryable(await order('unrecorded', 'short-leased'), 409, 'outcome_unknown');
    expectRetryable(await order('unrecorded', 'short-leased'), 409, 'outcome_unknown');
    expect(await keyRow(app.database, 'unrecorded')).toMatchObject({ status: 'unknown' });
    expect(routes.executions).toBe(1);
  });
});
