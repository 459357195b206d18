import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { KeyBatches } from '../../lib/keys/key-batches.js';
import { send, type Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { RESERVE } from '../support/store-statements.js';

/** Instead of 5,000, for which a test would need as many connections. */
const QUEUE = 3;

forEachPlatform((platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [routes.controller], logger: false });
    const { calls } = app.app.get(KeyBatches) as unknown as {
      calls: { options: { queue?: number } };
    };
    calls.options.queue = QUEUE;
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key });

  it('a request that finds the queue full gets 503, and memory does not grow', async () => {
    routes.answers((execution) => ({ execution }));
    const held = [app.proxy.holdStatement(RESERVE), app.proxy.holdStatement(RESERVE)];
    const first = order('flight-1');
    await held[0]!.reached;
    const second = order('flight-2');
    await held[1]!.reached;

    // Both statements are on their way, so these wait, and those are too many.
    const crowd = Array.from({ length: 3 * QUEUE }, (_, i) => order(`crowd-${i}`));
    const refused: Received[] = [];
    const accepted: Received[] = [];
    const sorted = crowd.map(async (answer) => {
      const received = await answer;
      (received.status === 503 ? refused : accepted).push(received);
      if (refused.length === 2 * QUEUE) for (const { release } of held) release();
    });
    await Promise.all(sorted);

    expect(accepted.map(({ status }) => status)).toEqual(Array(QUEUE).fill(201));
    for (const answer of refused) expectRetryable(answer, 503, 'store_unavailable');
    expect((await first).status).toBe(201);
    expect((await second).status).toBe(201);
    expect(routes.executions).toBe(QUEUE + 2);

    // Nothing is left of those that were refused: each one can simply be sent again.
    for (let i = 0; i < 3 * QUEUE; i++) expect((await order(`crowd-${i}`)).status).toBe(201);
    expect(routes.executions).toBe(3 * QUEUE + 2);
  });
});
