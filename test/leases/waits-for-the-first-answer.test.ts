import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import type { IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { LOOK } from '../support/store-statements.js';
import { until } from '../support/until.js';
import { untilWaiting } from '../support/waiting.js';

const WAITING = 10;

forEachPlatform('Waiting duplicates', (platform) => {
  const routes = new PolicyRoutes({ orders: { onInProgress: 'wait', waitFor: '55s' } });
  let first: ProxiedApp;
  let second: ProxiedApp;
  let gate: Barrier;

  beforeAll(async () => {
    first = await startProxiedApp(platform, { controllers: [routes.controller] });
    // Another process would know no more of the first one than this application does.
    second = await startProxiedApp(platform, {
      controllers: [routes.controller],
      database: first.database,
    });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });
  beforeEach(() => {
    gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
  });

  const order = (app: IdempotentApp, key: string): Promise<Received> =>
    send(`${app.url}/orders`, { key });

  /** Duplicates of a running request, all of which have been found to be such. */
  async function duplicates(app: ProxiedApp, key: string) {
    let answered = 0;
    const answers = Array.from({ length: WAITING }, () =>
      order(app, key).finally(() => (answered += 1)),
    );
    await untilWaiting(app, WAITING);
    const looks = app.proxy.count(LOOK);
    await until(() => app.proxy.count(LOOK) >= looks + 2, 'looks at the first attempt');
    expect(answered).toBe(0);
    return answers;
  }

  it.each([
    { where: 'in the same process', key: 'here', app: () => first },
    { where: 'in another process', key: 'elsewhere', app: () => second },
  ])('$where get the answer as soon as there is one', async ({ key, app }) => {
    const original = order(first, key);
    await gate.arrived();
    const waiting = await duplicates(app(), key);

    gate.open();
    const answer = await original;
    expect(answer.json()).toEqual({ execution: 1 });
    for (const duplicate of await Promise.all(waiting)) {
      expect(duplicate.status).toBe(201);
      expect(duplicate.headers.get('idempotent-replayed')).toBe('true');
      expect(duplicate.body).toEqual(answer.body);
    }
    expect(routes.executions).toBe(1);
  });

  it('in the same process are woken without a query', async () => {
    const original = order(first, 'woken');
    await gate.arrived();
    const waiting = await duplicates(first, 'woken');
    // From here on no look is answered any more.
    const look = first.proxy.holdStatement(LOOK);
    await look.reached;

    gate.open();
    await original;
    for (const duplicate of await Promise.all(waiting)) expect(duplicate.status).toBe(201);
    look.release();
  });
});
