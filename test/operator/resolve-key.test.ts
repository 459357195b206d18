import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ orders: { onServerError: 'unknown', retention: '2d' } });

forEachPlatform('A key resolved by an operator', (platform) => {
  let app: IdempotentApp;
  let key: string;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());
  const ask = () => send(`${app.url}/orders`, { key });

  /** A plain handler failed halfway, and nobody can know how far it got. */
  beforeEach(async () => {
    key = randomUUID();
    routes.answers(() => {
      throw new Error('a bug');
    });
    await ask();
    expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
    routes.answers(() => ({ order: 'made by a retry' }));
  });

  it.each<[string, unknown, string, string | undefined]>([
    ['JSON', { order: 7 }, '{"order":7}', 'application/json; charset=utf-8'],
    ['text', 'order 7', 'order 7', 'text/plain; charset=utf-8'],
    ['bytes', Buffer.from([0, 1, 255]), '\0\u0001\ufffd', undefined],
    ['nothing', undefined, '', undefined],
  ])('as completed with %s gives that answer to retries', async (_, body, text, type) => {
    const { id, created_at } = await keyRow(app.database, key);
    const resolution = { outcome: 'completed', answer: { status: 201, body } } as const;
    const change = await operatorOf(app).resolveKey(id, resolution, 'support');
    expect(change).toMatchObject({ changed: true, after: { status: 'completed' } });

    const retry = await ask();
    expect(retry.status).toBe(201);
    expect(retry.text).toBe(text);
    expect(retry.headers.get('content-type') ?? undefined).toBe(type);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(routes.executions).toBe(0);

    const row = await keyRow(app.database, key);
    expect(row).toMatchObject({ recovery_point: 'finished', last_error_code: null });
    // A full retention again, as long as the first one.
    expect(row.expires_at - row.completed_at).toBe(2 * 86_400_000);
    expect(row.completed_at.getTime()).toBeGreaterThan(created_at.getTime());
  });

  it('as completed with headers replays them as well', async () => {
    const { id } = await keyRow(app.database, key);
    const headers = { Location: '/orders/7', 'Content-Type': 'application/vnd.shop+json' };
    const answer = { status: 303, body: { order: 7 }, headers };
    await operatorOf(app).resolveKey(id, { outcome: 'completed', answer }, 'support');
    const retry = await ask();
    expect(retry.headers.get('location')).toBe('/orders/7');
    expect(retry.headers.get('content-type')).toMatch(/^application\/vnd\.shop\+json/);
  });

  it('as retryable lets a retry run', async () => {
    const { id } = await keyRow(app.database, key);
    await operatorOf(app).resolveKey(id, { outcome: 'retryable' }, 'support');
    expect(await keyRow(app.database, key)).toMatchObject({
      status: 'failed_retryable',
      reconcile_after: null,
      resume_after: null,
    });
    expect((await ask()).json()).toEqual({ order: 'made by a retry' });
    expect(routes.executions).toBe(1);
  });
});
