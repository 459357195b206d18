import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { KeyBatches } from '../../lib/keys/key-batches.js';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { LOOK_UP, RESERVE } from '../support/store-statements.js';
import { until } from '../support/until.js';

// Of a batch, some keys are taken, and the others are read by a second statement.
// If that one fails, nobody may forget what the first one took.
forEachPlatform('A batch with keys that cannot be read', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      // Long enough for four requests to arrive one after another on a busy machine.
      idempotency: { storeTimeout: '5s' },
      logger: false,
    });
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key });

  it('runs the reserved ones, and refuses the others', async () => {
    routes.answers((execution) => ({ execution }));
    expect((await order('finished')).status).toBe(201);

    // As many as may be on their way at a time: whatever comes next has to wait.
    const held = Array.from({ length: 4 }, () => app.proxy.holdStatement(RESERVE));
    const others: Promise<Received>[] = [];
    for (const [index, { reached }] of held.entries()) {
      others.push(order(`other-${index}`));
      await reached;
    }
    const fresh = order('fresh');
    const retry = order('finished');
    const { calls } = app.app.get(KeyBatches) as unknown as { calls: { waiting: unknown[] } };
    await until(() => calls.waiting.length === 2, 'both wait for the same statement');
    const look = app.proxy.holdStatement(LOOK_UP);
    for (const { release } of held) release();
    await look.reached;

    expectRetryable(await retry, 503, 'store_unavailable');
    look.release();
    expect((await fresh).status).toBe(201);
    for (const other of others) expect((await other).status).toBe(201);
    expect(await keyRow(app.database, 'fresh')).toMatchObject({ status: 'completed', attempt: 1 });
    expect((await order('finished')).headers.get('idempotent-replayed')).toBe('true');
    expect(routes.executions).toBe(6);
  });
});
