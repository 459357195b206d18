import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({
  reject: { onInProgress: 'reject' },
  accept: { onInProgress: 'accept' },
});

forEachPlatform('onInProgress', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller] });
  });
  afterAll(() => app.close());

  let gate: Barrier;
  beforeEach(() => {
    gate = barrier();
    routes.answers(async () => {
      await gate.pass();
      return { done: true };
    });
  });

  async function begin(path: string): Promise<Promise<Received>[]> {
    const first = send(`${app.url}/${path}`, { key: path });
    await gate.arrived();
    return [first];
  }

  it('gives a duplicate of a running request 409, and later its answer', async () => {
    const [first] = await begin('reject');
    const duplicate = await send(`${app.url}/reject`, { key: 'reject' });
    expect(duplicate.status).toBe(409);
    expect(duplicate.json()).toMatchObject({ code: 'in_progress', retryable: true });
    expect(duplicate.headers.get('retry-after')).toBe('1');

    gate.open();
    expect((await first!).status).toBe(201);
    const retry = await send(`${app.url}/reject`, { key: 'reject' });
    expect(retry.text).toBe('{"done":true}');
    expect(routes.executions).toBe(1);
  });

  it("'accept' gives it 202, which is no final answer", async () => {
    const [first] = await begin('accept');
    const duplicate = await send(`${app.url}/accept`, { key: 'accept' });
    expect(duplicate.status).toBe(202);
    expect(duplicate.json()).toMatchObject({ status: 'in_progress' });
    expect(duplicate.headers.get('content-type')).toMatch(/^application\/json/);
    expect(duplicate.headers.get('retry-after')).toBe('1');
    for (const header of ['idempotent-replayed', 'idempotency-key-expires', 'location']) {
      expect(duplicate.headers.get(header)).toBeNull();
    }

    gate.open();
    expect((await first!).status).toBe(201);
    const retry = await send(`${app.url}/accept`, { key: 'accept' });
    expect(retry.status).toBe(201);
    expect(retry.text).toBe('{"done":true}');
    expect(routes.executions).toBe(1);
  });

  it('gives a longer Retry-After the longer the request runs, up to 59 seconds', async () => {
    for (const path of ['reject', 'accept']) {
      gate = barrier();
      const key = `${path}-for-long`;
      const first = send(`${app.url}/${path}`, { key });
      await gate.arrived();
      for (const [seconds, expected] of [
        [20, /^2\d$/],
        [600, /^59$/],
        // Clocks that go back must not give zero or less.
        [-600, /^1$/],
      ] as const) {
        await app.database.query(
          `UPDATE idempotency_keys SET last_run_at = now() - $2 * interval '1 second' WHERE key = $1`,
          [key, seconds],
        );
        const duplicate = await send(`${app.url}/${path}`, { key });
        expect(duplicate.headers.get('retry-after')).toMatch(expected);
      }
      gate.open();
      await first;
    }
  });
});
