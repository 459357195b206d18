import { ServiceUnavailableException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({
  retry: { onServerError: 'retry' },
  store: { onServerError: 'store' },
  unknown: { onServerError: 'unknown' },
});

const FAILURE = '{"why":"no rockets left"}';

forEachPlatform('onServerError', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());

  beforeEach(() => {
    routes.answers((execution) => {
      if (execution === 1) throw new ServiceUnavailableException({ why: 'no rockets left' });
      return { execution };
    });
  });

  const ask = (path: string) => send(`${app.url}/${path}`, { key: `${path}-key` });
  const rowOf = (path: string) => keyRow(app.database, `${path}-key`);

  it("'retry' leaves the key open, and the next attempt's success is final", async () => {
    const first = await ask('retry');
    expect([first.status, first.text]).toEqual([503, FAILURE]);
    expect(first.headers.get('idempotency-key-expires')).toBeNull();
    expect(await rowOf('retry')).toMatchObject({
      status: 'failed_retryable',
      last_error_code: 'http_503',
      recovery_point: 'started',
      response_status: null,
      response_body: null,
    });

    const second = await ask('retry');
    expect([second.status, second.json()]).toEqual([201, { execution: 2 }]);
    expect(await rowOf('retry')).toMatchObject({
      status: 'completed',
      attempt: 2,
      last_error_code: null,
      recovery_point: 'finished',
    });
    expect((await ask('retry')).body).toEqual(second.body);
    expect(routes.executions).toBe(2);
  });

  it("'store' makes the error the final answer", async () => {
    const first = await ask('store');
    expect([first.status, first.text]).toEqual([503, FAILURE]);
    expect(first.headers.get('idempotency-key-expires')).not.toBeNull();
    const retry = await ask('store');
    expect([retry.status, retry.text]).toEqual([503, FAILURE]);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(routes.executions).toBe(1);
  });

  it("'unknown' keeps the key until there is a resolution", async () => {
    const first = await ask('unknown');
    expect([first.status, first.text]).toEqual([503, FAILURE]);
    expect(first.headers.get('idempotency-key-expires')).toBeNull();
    for (let retry = 1; retry <= 2; retry++) {
      const answer = await ask('unknown');
      expect(answer.status).toBe(409);
      expect(answer.json().code).toBe('outcome_unknown');
    }
    expect(await rowOf('unknown')).toMatchObject({
      status: 'unknown',
      last_error_code: 'http_503',
    });
    expect((await rowOf('unknown')).reconcile_after).toBeInstanceOf(Date);
    expect(routes.executions).toBe(1);
  });
});
