import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { IdempotencyHealthIndicator, onIdempotencyEvent } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { recordingLogger } from '../support/recording-logger.js';
import { expectRetryable } from '../support/refusals.js';
import { RESERVE } from '../support/store-statements.js';

forEachPlatform('The circuit breaker', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  const log = recordingLogger();
  const events: string[] = [];
  const ends: (() => void)[] = [];
  let app: ProxiedApp;

  beforeAll(async () => {
    for (const name of ['breaker_opened', 'breaker_closed'] as const) {
      ends.push(onIdempotencyEvent(name, () => void events.push(name)));
    }
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: { storeTimeout: '30s', circuitBreaker: { failures: 3, after: 0 } },
      logger: log,
    });
  });
  afterAll(async () => {
    ends.forEach((end) => end());
    await app.close();
  });
  beforeEach(() => {
    events.length = 0;
    routes.answers((execution) => ({ execution }));
  });

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  /** The database is down, and the breaker knows. */
  async function outage(): Promise<void> {
    await app.proxy.refuse();
    expectRetryable(await order('first'), 503, 'store_unavailable');
    expect(events).toEqual(['breaker_opened']);
  }

  it('opens after failures in a row, says so, and the first answer closes it', async () => {
    await outage();
    expect(log.errors.join()).toMatch(/failed 3 times in a row.*503 at once.*ECONNREFUSED/s);
    const [health] = Object.values(
      await app.app.get(IdempotencyHealthIndicator).check('x', { maxAge: 0 }),
    );
    expect(health).toMatchObject({
      status: 'down',
      reasons: [expect.stringContaining('refused at once')],
    });

    await app.proxy.accept();
    expect((await order('first')).status).toBe(201);
    expect(events).toEqual(['breaker_opened', 'breaker_closed']);
    expect(routes.executions).toBe(1);
  });

  it('lets one probe through at a time, and refuses the others without asking', async () => {
    await outage();
    await app.proxy.accept();
    const probe = app.proxy.holdStatement(RESERVE);
    const admitted = order('probe');
    await probe.reached;
    const sent = app.proxy.count(RESERVE);
    const refused = await Promise.all(Array.from({ length: 20 }, (_, n) => order(`other-${n}`)));
    for (const answer of refused) expectRetryable(answer, 503, 'store_unavailable');
    expect(app.proxy.count(RESERVE)).toBe(sent);
    expect(routes.executions).toBe(0);

    probe.release();
    expect((await admitted).status).toBe(201);
    expect((await order('other-0')).status).toBe(201);
    expect(events).toEqual(['breaker_opened', 'breaker_closed']);
  });

  it('does not keep the outcome of a running attempt from being recorded', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
    const running = order('running');
    await gate.arrived();
    await outage();
    gate.open();
    // It is tried, and fails, while requests are refused.
    expectRetryable(await order('meanwhile'), 503, 'store_unavailable');
    await app.proxy.accept();

    const answer = await running;
    expect([answer.status, answer.json()]).toEqual([201, { execution: 1 }]);
    expect(await keyRow(app.database, 'running')).toMatchObject({ status: 'completed' });
    // Its recording was the first answer.
    expect(events).toEqual(['breaker_opened', 'breaker_closed']);
    expect((await order('meanwhile')).status).toBe(201);
  });

  it('is not opened by errors of the database itself', async () => {
    await app.database.query('ALTER TABLE idempotency_keys RENAME COLUMN request TO elsewhere');
    for (let count = 0; count < 5; count++) {
      expectRetryable(await order('broken'), 503, 'store_unavailable');
    }
    await app.database.query('ALTER TABLE idempotency_keys RENAME COLUMN elsewhere TO request');
    expect(events).toEqual([]);
    expect((await order('broken')).status).toBe(201);
  });
});
