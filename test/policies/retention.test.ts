import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const HOUR = 3_600_000;
const routes = new PolicyRoutes({
  default: {},
  hour: { retention: '1h' },
  milliseconds: { retention: 90_000 },
  forever: { retention: 'forever' },
});

forEachPlatform('Retention', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => routes.answers(() => ({})));

  const ask = (path: string, key: string, body?: unknown) =>
    send(`${app.url}/${path}`, { key, body });

  async function expireIn(key: string, seconds: number): Promise<void> {
    await app.database.query(
      `UPDATE idempotency_keys SET expires_at = now() + $2 * interval '1 second' WHERE key = $1`,
      [key, seconds],
    );
  }

  it.each([
    ['default', 24 * HOUR],
    ['hour', HOUR],
    ['milliseconds', 90_000],
  ])('is sent as an HTTP date with the answer and with its replay (%s)', async (path, window) => {
    const first = await ask(path, path);
    const replay = await ask(path, path);
    const row = await keyRow(app.database, path);
    expect(row.expires_at - row.created_at).toBe(window);

    const header = first.headers.get('idempotency-key-expires')!;
    expect(header).toMatch(/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
    expect(Date.parse(header)).toBe(Math.floor(row.expires_at / 1000) * 1000);
    expect(replay.headers.get('idempotency-key-expires')).toBe(header);
  });

  it("has no end with 'forever', and no header", async () => {
    for (const replayed of [null, 'true']) {
      const answer = await ask('forever', 'forever');
      expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
      expect(answer.headers.get('idempotency-key-expires')).toBeNull();
    }
    expect((await keyRow(app.database, 'forever')).expires_at).toBeNull();
  });

  it("has no end with 'forever' after a resume either", async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new Error('a bug');
      return {};
    });
    expect((await ask('forever', 'resumed')).status).toBe(500);
    expect((await ask('forever', 'resumed')).status).toBe(201);
    expect((await keyRow(app.database, 'resumed')).expires_at).toBeNull();
  });

  it.each([429, 500])('is not promised with an answer that is not final (%i)', async (status) => {
    routes.answers(() => {
      throw new HttpException('later', status);
    });
    const answer = await ask('hour', `status-${status}`);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('idempotency-key-expires')).toBeNull();
  });

  it('is not promised with a refusal', async () => {
    await ask('hour', 'refused', { amount: 1 });
    const refused = await ask('hour', 'refused', { amount: 2 });
    expect(refused.status).toBe(422);
    expect(refused.headers.get('idempotency-key-expires')).toBeNull();
  });

  it('starts again when a resumed attempt finishes', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new Error('a bug');
      return {};
    });
    await ask('hour', 'second-window');
    await expireIn('second-window', 1);
    const answer = await ask('hour', 'second-window');
    const row = await keyRow(app.database, 'second-window');
    expect(row.expires_at - row.completed_at).toBe(HOUR);
    expect(answer.headers.get('idempotency-key-expires')).toBe(row.expires_at.toUTCString());
  });

  it('starts again when a first attempt took longer than it', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
    const running = ask('hour', 'slow');
    await gate.arrived();
    // As if it had been running for longer than answers are kept.
    await expireIn('slow', -1);
    gate.open();
    const first = await running;
    const row = await keyRow(app.database, 'slow');
    expect(row.expires_at - row.completed_at).toBe(HOUR);
    expect(first.headers.get('idempotency-key-expires')).toBe(row.expires_at.toUTCString());

    const retry = await ask('hour', 'slow');
    expect(retry.body).toEqual(first.body);
    expect(routes.executions).toBe(1);
  });
});
