import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ cautious: {}, careless: { onAbandoned: 'resume' } });

forEachPlatform('onAbandoned', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      idempotency: { lease: '1h', maxRunTime: '2h', keyspace: 'endpoint' },
      logger: false,
    });
  });
  afterAll(() => app.close());

  /** The first execution stalls; later ones answer at once. */
  let stall: Barrier;
  beforeEach(() => {
    stall = barrier();
    routes.answers(async (execution) => {
      if (execution === 1) await stall.pass();
      return { execution };
    });
  });

  async function abandon(path: string) {
    const first = send(`${app.url}/${path}`, { key: path });
    await stall.arrived();
    await lapse(app.database, path);
    return { first };
  }

  it('keeps the key of a plain handler that died as unknown, for every further retry', async () => {
    const { first } = await abandon('cautious');
    for (let retry = 1; retry <= 3; retry++) {
      const answer = await send(`${app.url}/cautious`, { key: 'cautious' });
      expect(answer.status).toBe(409);
      expect(answer.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
    }
    expect(routes.executions).toBe(1);
    expect(await keyRow(app.database, 'cautious')).toMatchObject({
      status: 'unknown',
      last_error_code: 'abandoned',
      attempt: 1,
    });

    // It was not dead: its answer comes too late to be recorded.
    stall.open();
    const late = await first;
    expect(late.status).toBe(409);
    expect(late.json()).toMatchObject({ code: 'lease_lost', retryable: true });
    expect((await keyRow(app.database, 'cautious')).status).toBe('unknown');
  });

  it("'resume' runs again, and the first attempt's answer is not kept", async () => {
    const { first } = await abandon('careless');
    const retry = await send(`${app.url}/careless`, { key: 'careless' });
    expect(retry.status).toBe(201);
    expect(retry.json()).toEqual({ execution: 2 });
    expect(await keyRow(app.database, 'careless')).toMatchObject({
      status: 'completed',
      attempt: 2,
    });

    stall.open();
    expect((await first).json()).toMatchObject({ code: 'lease_lost' });
    const replay = await send(`${app.url}/careless`, { key: 'careless' });
    expect(replay.body).toEqual(retry.body);
    expect(routes.executions).toBe(2);
  });
});
