import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { KeyBatches } from '../../lib/keys/key-batches.js';
import { send, type Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import type { Held } from '../support/postgres-proxy.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { RESERVE } from '../support/store-statements.js';

/** Instead of 5,000, for which a test would need as many connections. */
const QUEUE = 3;

/** No further statement leaves before one of them is back, however late they are. */
const MOST_CONCURRENT = 4;

forEachPlatform('A full queue', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      logger: false,
      // What is held and what waits for it is not to be given up, however slow the machine is.
      idempotency: { storeTimeout: '10m', lease: '15m', outbox: { lease: '15m' } },
    });
    const { calls } = app.app.get(KeyBatches) as unknown as {
      calls: { options: { queue?: number } };
    };
    calls.options.queue = QUEUE;
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key });

  it('refuses further requests with 503, and memory does not grow', async () => {
    routes.answers((execution) => ({ execution }));
    const held: Held[] = [];
    const statements: Promise<Received>[] = [];
    // The third leaves when the first is late, and so on.
    while (held.length < MOST_CONCURRENT) {
      const statement = app.proxy.holdStatement(RESERVE);
      held.push(statement);
      statements.push(order(`statement-${held.length}`));
      await statement.reached;
    }

    // All statements are on their way, so these wait, and those are too many.
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
    for (const statement of statements) expect((await statement).status).toBe(201);
    expect(routes.executions).toBe(QUEUE + MOST_CONCURRENT);

    // Nothing is left of those that were refused: each one can simply be sent again.
    for (let i = 0; i < 3 * QUEUE; i++) expect((await order(`crowd-${i}`)).status).toBe(201);
    expect(routes.executions).toBe(3 * QUEUE + MOST_CONCURRENT);
  });
});
