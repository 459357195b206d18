import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, LOOK_UP, RESERVE } from '../support/store-statements.js';

forEachPlatform('The number of statements', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [routes.controller] });
  });
  afterAll(() => app.close());

  /** What the application sends to the database while `work` runs. */
  async function statementsDuring(work: () => Promise<unknown>): Promise<string[]> {
    const before = app.proxy.statements.length;
    await work();
    return app.proxy.statements.slice(before).map(({ sql }) => sql);
  }

  it('is two for a request, and two for its replay', async () => {
    routes.answers(() => ({ order: 1 }));
    const order = () => send(`${app.url}/orders`, { key: 'counted', body: { item: 'rocket' } });

    const fresh = await statementsDuring(order);
    expect(fresh).toEqual([expect.stringMatching(RESERVE), expect.stringMatching(FINISH)]);

    const replay = await statementsDuring(order);
    expect(replay).toEqual([expect.stringMatching(RESERVE), expect.stringMatching(LOOK_UP)]);
    expect(routes.executions).toBe(1);
  });

  it('is no higher for a refused duplicate or another request with the same key', async () => {
    const gate = barrier();
    routes.answers(() => gate.pass());
    const first = send(`${app.url}/orders`, { key: 'refused', body: { item: 'rocket' } });
    await gate.arrived();

    const duplicate = await statementsDuring(async () => {
      const answer = await send(`${app.url}/orders`, { key: 'refused', body: { item: 'rocket' } });
      expect(answer.json().code).toBe('in_progress');
    });
    expect(duplicate).toEqual([expect.stringMatching(RESERVE), expect.stringMatching(LOOK_UP)]);

    const mismatch = await statementsDuring(async () => {
      const answer = await send(`${app.url}/orders`, { key: 'refused', body: { item: 'boat' } });
      expect(answer.json().code).toBe('key_reused');
    });
    expect(mismatch).toEqual([expect.stringMatching(RESERVE), expect.stringMatching(LOOK_UP)]);

    gate.open();
    expect((await first).status).toBe(201);
  });
});
