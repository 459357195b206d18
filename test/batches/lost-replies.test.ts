import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, RESERVE } from '../support/store-statements.js';

const CROWD = 12;

// A statement of many requests was executed, and its reply is lost. Each of
// them asks again, and finds its own work done.
forEachPlatform('Lost replies to batches', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key });
  const keysOf = (name: string) => Array.from({ length: CROWD }, (_, i) => `${name}-${i}`);

  async function expectOnce(keys: string[], answers: Received[]): Promise<void> {
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect(routes.executions).toBe(keys.length);
    const rows = await app.database.query(
      `SELECT key FROM idempotency_keys
       WHERE key = ANY ($1) AND status = 'completed' AND attempt = 1`,
      [keys],
    );
    expect(rows).toHaveLength(keys.length);
    for (const [i, key] of keys.entries()) {
      const replay = await order(key);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(replay.body).toEqual(answers[i]!.body);
    }
    expect(routes.executions).toBe(keys.length);
  }

  it('of reservations: each request runs once', async () => {
    routes.answers((execution) => ({ execution }));
    const keys = keysOf('reserved');
    // Nothing leaves until all have come: two statements are held, the rest gather.
    const held = [app.proxy.holdStatement(RESERVE), app.proxy.holdStatement(RESERVE)];
    const answers = keys.map(order);
    await Promise.all(held.map(({ reached }) => reached));
    const lost = app.proxy.loseReply(RESERVE);
    for (const { release } of held) release();
    await lost;
    await expectOnce(keys, await Promise.all(answers));
  });

  it('of recordings: each answer is the recorded one', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
    const keys = keysOf('ended');
    const answers = keys.map(order);
    await gate.arrived(CROWD);
    const lost = [app.proxy.loseReply(FINISH), app.proxy.loseReply(FINISH)];
    gate.open();
    await Promise.all(lost);
    await expectOnce(keys, await Promise.all(answers));
  });
});
