import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey, probe, withHealth } from './health-app.js';

forEachPlatform('The health check of terminus', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, withHealth);
  });
  afterAll(() => app.close());
  beforeEach(() => app.database.query('TRUNCATE idempotency_keys, idempotency_phases'));

  it('is ok where everything works', async () => {
    expect(await probe(app)).toEqual({
      status: 200,
      body: {
        status: 'ok',
        info: {
          idempotency: {
            status: 'up',
            degraded: false,
            reasons: [],
            unknown: 0,
            outboxLag: 0,
            expiredBacklog: 0,
          },
        },
        error: {},
        details: { idempotency: expect.objectContaining({ status: 'up' }) },
      },
    });
  });

  it('is ok, and says what needs a look, in the way that terminus 11 understands as well', async () => {
    await insertKey(app.database, { status: 'unknown', reconcileAfter: 'infinity' });
    const { status, body } = await probe(app);
    expect(status).toBe(200);
    expect(body.status).toBe('ok');
    expect(body.info.idempotency).toMatchObject({
      status: 'up',
      degraded: true,
      reasons: ['Unknown outcomes that are left to people: 1.'],
    });
  });

  it("is degraded with degradedAs: 'degraded', and stays 200", async () => {
    await insertKey(app.database, { status: 'unknown', reconcileAfter: 'infinity' });
    const { status, body } = await probe(app, 'degraded');
    expect(status).toBe(200);
    expect(body.status).toBe('degraded');
    expect(body.details.idempotency).toMatchObject({ status: 'degraded', degraded: true });
  });

  it("fails with degradedAs: 'down'", async () => {
    await insertKey(app.database, { status: 'unknown', reconcileAfter: 'infinity' });
    const { status, body } = await probe(app, 'down');
    expect(status).toBe(503);
    expect(body.error.idempotency).toMatchObject({ status: 'down', degraded: true });
  });
});
