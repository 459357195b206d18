import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { onIdempotencyEvent } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { expectRetryable } from '../support/refusals.js';
import { untilWaiting } from '../support/waiting.js';

forEachPlatform('The limit on waiting duplicates', (platform) => {
  const routes = new PolicyRoutes({ orders: { onInProgress: 'wait', waitFor: '55s' } });
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      idempotency: {
        scope: ({ headers }) => headers['x-account'],
        limits: (scope) => (scope === 'nobody-waits' ? { waiting: 0 } : { waiting: 2 }),
      },
    });
  });
  afterAll(() => app.close());

  const order = (key: string, account: string): Promise<Received> =>
    send(`${app.url}/orders`, { key, headers: { 'x-account': account } });

  it('answers those above it at once, and only in their scope', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
    const events: unknown[] = [];
    const stop = onIdempotencyEvent('limited', ({ limit }) => events.push(limit));
    const running = [
      order('a', 'one'),
      order('b', 'one'),
      order('a', 'two'),
      order('a', 'nobody-waits'),
    ];
    await gate.arrived(4);
    const waiting = [order('a', 'one'), order('b', 'one'), order('a', 'two')];
    await untilWaiting(app, 3);

    expectRetryable(await order('a', 'one'), 409, 'in_progress');
    expectRetryable(await order('b', 'one'), 409, 'in_progress');
    expectRetryable(await order('a', 'nobody-waits'), 409, 'in_progress');
    stop();
    expect(events).toEqual(['waiting', 'waiting', 'waiting']);
    waiting.push(order('a', 'two'));
    await untilWaiting(app, 4);

    gate.open();
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(201);
    for (const answer of await Promise.all(waiting)) {
      expect(answer.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(routes.executions).toBe(4);
  });

  it('has its places back when they have been answered', async () => {
    const gate = barrier();
    routes.answers(() => gate.pass());
    const running = order('again', 'one');
    await gate.arrived();
    const waiting = [order('again', 'one'), order('again', 'one')];
    await untilWaiting(app, 2);
    gate.open();
    for (const { status } of await Promise.all([running, ...waiting])) expect(status).toBe(201);
  });
});
