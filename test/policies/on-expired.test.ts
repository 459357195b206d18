import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ forget: { onExpired: 'forget' }, gone: { onExpired: 'gone' } });

forEachPlatform('onExpired', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      idempotency: { retention: '1h' },
    });
  });
  afterAll(() => app.close());

  beforeEach(() => routes.answers((execution) => ({ execution })));

  async function outlive(key: string): Promise<void> {
    await app.database.query(
      `UPDATE idempotency_keys SET created_at = created_at - interval '1 hour',
         expires_at = expires_at - interval '1 hour' WHERE key = $1`,
      [key],
    );
  }

  it("'forget' makes a retry after the retention a new operation, with its own retention", async () => {
    const ask = (body: unknown) => send(`${app.url}/forget`, { key: 'forgotten', body });
    await ask({ amount: 1 });
    const old = await keyRow(app.database, 'forgotten');
    await outlive('forgotten');

    // Forgotten is forgotten: the fingerprint too.
    const anew = await ask({ amount: 2 });
    expect([anew.status, anew.json()]).toEqual([201, { execution: 2 }]);
    expect(anew.headers.get('idempotent-replayed')).toBeNull();
    const row = await keyRow(app.database, 'forgotten');
    expect(row).toMatchObject({ status: 'completed', attempt: 1 });
    expect(row.id).not.toBe(old.id);
    expect(row.expires_at - row.created_at).toBe(3_600_000);

    expect((await ask({ amount: 2 })).body).toEqual(anew.body);
    expect((await ask({ amount: 1 })).status).toBe(422);
    expect(routes.executions).toBe(2);
  });

  it("'gone' gives 410 from then on, and never runs it again", async () => {
    const ask = (body: unknown) => send(`${app.url}/gone`, { key: 'gone', body });
    await ask({ amount: 1 });
    await outlive('gone');
    for (const amount of [1, 2]) {
      const answer = await ask({ amount });
      expect(answer.status).toBe(410);
      expect(answer.json()).toMatchObject({ code: 'expired', retryable: false });
      expect(answer.headers.get('idempotency-key-expires')).toBeNull();
    }
    expect(routes.executions).toBe(1);
  });

  it('makes two late retries at the same time one new operation', async () => {
    const ask = () => send(`${app.url}/forget`, { key: 'twice' });
    await ask();
    await outlive('twice');
    const statuses = (await Promise.all([ask(), ask(), ask()])).map((answer) => answer.status);
    // Each gets the new answer, or hears that it is on its way.
    for (const status of statuses) expect([201, 409]).toContain(status);
    expect(statuses).toContain(201);
    expect(routes.executions).toBe(2);
  });
});
