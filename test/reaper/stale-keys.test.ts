import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { keyTime } from '../../lib/request/key-time.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const HOUR = 3_600_000;

function uuidV7(time: number): string {
  const hex = time.toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `7${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

function ulid(time: number): string {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  let head = '';
  for (let rest = time, at = 0; at < 10; at++, rest = Math.floor(rest / 32)) {
    head = alphabet[rest % 32] + head;
  }
  return head + [...randomBytes(16)].map((byte) => alphabet[byte % 32]).join('');
}

describe('The time of a key', () => {
  it.each<[string, string, number | undefined]>([
    ['a UUIDv7', '017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 0x017f22e279b0],
    ['a UUIDv7 in capitals', '017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 0x017f22e279b0],
    ['a ULID', '01ARYZ6S41TSV4RRFFQ69G5FAV', 1469918176385],
    ['a ULID in small letters', '01aryz6s41tsv4rrffq69g5fav', 1469918176385],
    ['a UUIDv4', '8e03978e-40d5-43e8-bc93-6894a57f9324', undefined],
    ['a UUIDv1', 'c232ab00-9414-11ec-b3c8-9f6bdeced846', undefined],
    ['26 digits', '00000000001234567890123456', undefined],
    ['26 letters that are no ULID', 'abcdefghijklmnopqrstuvwxyz', undefined],
    ['an order number', 'order-4711', undefined],
  ])('is read from %s', (_, key, time) => {
    expect(keyTime(key)).toBe(time);
  });
});

const routes = new PolicyRoutes({
  strict: { staleKeys: 'reject' },
  forever: { staleKeys: 'reject', retention: 'forever' },
  lenient: {},
});

forEachPlatform('Stale keys', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => routes.answers((execution) => ({ execution })));
  const ask = (path: string, key: string) => send(`${app.url}/${path}`, { key });

  describe.each([
    ['UUIDv7', uuidV7],
    ['ULID', ulid],
  ])('A %s', (_, make) => {
    it('older than retention is refused with 410, and nothing runs', async () => {
      const key = make(Date.now() - 25 * HOUR);
      const answer = await ask('strict', key);
      expect(answer.status).toBe(410);
      expect(answer.json()).toMatchObject({ code: 'expired', retryable: false });
      expect(answer.json().detail).toContain('longer ago than keys are kept');
      expect(routes.executions).toBe(0);
      await expect(keyRow(app.database, key)).rejects.toThrow('There is no row');
    });

    it.each<[string, string, number]>([
      ['younger than retention', 'strict', -23 * HOUR],
      ['from a clock that is ahead', 'strict', +HOUR],
      ['that is old, where keys are kept forever', 'forever', -10_000 * HOUR],
      ['that is old, where nobody minds', 'lenient', -25 * HOUR],
    ])('%s runs', async (_what, path, age) => {
      expect((await ask(path, make(Date.now() + age))).status).toBe(201);
      expect(routes.executions).toBe(1);
    });

    it('that is old but still stored gets its answer', async () => {
      const key = make(Date.now() - 23 * HOUR);
      const old = make(Date.now() - 25 * HOUR);
      await ask('strict', key);
      // As if it had been made two hours earlier, and finished long after it was begun.
      await app.database.query('UPDATE idempotency_keys SET key = $2 WHERE key = $1', [key, old]);
      const retry = await ask('strict', old);
      expect(retry.json()).toEqual({ execution: 1 });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
    });

    it('that was removed a moment ago is not a new operation', async () => {
      const key = make(Date.now() - 23 * HOUR);
      expect((await ask('strict', key)).status).toBe(201);
      const old = make(Date.now() - 25 * HOUR);
      await app.database.query(
        `UPDATE idempotency_keys SET key = $2, expires_at = now() - interval '1 hour' WHERE key = $1`,
        [key, old],
      );
      expect((await ask('strict', old)).status).toBe(410);
      expect(routes.executions).toBe(1);
    });
  });

  it('do not affect other keys', async () => {
    for (const key of ['order-4711', '8e03978e-40d5-43e8-bc93-6894a57f9324']) {
      expect((await ask('strict', key)).status).toBe(201);
    }
  });

  it("are recognised by the database's clock, with a few seconds of tolerance", async () => {
    const [row] = await app.database.query<{ now: number }>(
      `SELECT (extract(epoch FROM now()) * 1000)::float8 AS now`,
    );
    const edge = Math.floor(row!.now) - 24 * HOUR;
    // Five seconds are forgiven; the test has none of its own, so it stays well away from them.
    expect((await ask('strict', uuidV7(edge + 60_000))).status).toBe(201);
    expect((await ask('strict', uuidV7(edge - 10_000))).status).toBe(410);
  });
});
