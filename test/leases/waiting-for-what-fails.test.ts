import { InternalServerErrorException } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { expectRetryable } from '../support/refusals.js';
import { untilWaiting } from '../support/waiting.js';

const WAITING = 10;

forEachPlatform('Duplicates that wait for an attempt that fails', (platform) => {
  const wait = { onInProgress: 'wait', waitFor: '55s' } as const;
  const routes = new PolicyRoutes({
    orders: wait,
    'resumable-orders': { ...wait, onAbandoned: 'resume' },
  });
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());

  const order = (path: string, key: string): Promise<Received> =>
    send(`${app.url}/${path}`, { key });

  /** Requests that wait for the running attempt of a key. */
  async function waitingFor(path: string, key: string): Promise<Promise<Received[]>[]> {
    const waiting = Array.from({ length: WAITING }, () => order(path, key));
    await untilWaiting(app, WAITING);
    return [Promise.all(waiting)];
  }

  it('take over, one of them, when the first attempt failed', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      if (execution > 1) return { execution };
      await gate.pass();
      throw new InternalServerErrorException();
    });
    const first = order('orders', 'failed');
    await gate.arrived();
    const [waiting] = await waitingFor('orders', 'failed');

    gate.open();
    expect((await first).status).toBe(500);
    const answers = await waiting!;
    for (const answer of answers)
      expect([answer.status, answer.json()]).toEqual([201, { execution: 2 }]);
    const replayed = answers.filter((answer) => answer.headers.has('idempotent-replayed'));
    expect(replayed).toHaveLength(WAITING - 1);
    expect(routes.executions).toBe(2);
    expect(await keyRow(app.database, 'failed')).toMatchObject({ status: 'completed', attempt: 2 });
  });

  /** A key that a dead process has reserved. */
  async function abandoned(path: string, key: string): Promise<void> {
    routes.answers((execution) => ({ execution }));
    await order(path, `${key}-model`);
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
       SELECT scope, $1, fingerprint, gen_random_uuid(), now() + interval '1 minute'
       FROM idempotency_keys WHERE key = $1 || '-model'`,
      [key],
    );
    routes.answers((execution) => ({ execution }));
  }

  it('are told that the outcome is unknown when the first attempt died', async () => {
    await abandoned('orders', 'died');
    const [waiting] = await waitingFor('orders', 'died');
    await lapse(app.database, 'died');

    for (const answer of await waiting!) expectRetryable(answer, 409, 'outcome_unknown');
    expect(routes.executions).toBe(0);
  });

  it('take over, one of them, when the first attempt died and may be repeated', async () => {
    await abandoned('resumable-orders', 'resumed');
    const [waiting] = await waitingFor('resumable-orders', 'resumed');
    await lapse(app.database, 'resumed');

    for (const answer of await waiting!) expect(answer.json()).toEqual({ execution: 1 });
    expect(routes.executions).toBe(1);
  });

  it('reserve the key, one of them, when it was given back', async () => {
    await abandoned('orders', 'given-back');
    const [waiting] = await waitingFor('orders', 'given-back');
    await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'given-back'`);

    for (const answer of await waiting!) expect(answer.json()).toEqual({ execution: 1 });
    expect(routes.executions).toBe(1);
  });
});
