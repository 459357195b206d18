import { InternalServerErrorException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { GIVE_BACK, RESERVE, TAKE_OVER } from '../support/store-statements.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';
import { until } from '../support/until.js';

// Giving up on a statement does not undo it. A reservation that is made after
// its request was refused would lapse into "outcome unknown", although nothing
// ever ran.
forEachPlatform('A late reservation', (platform) => {
  const routes = new PolicyRoutes({ orders: {}, 'short-leased': { lease: '1s' } });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: { storeTimeout: '1s' },
    });
  });
  afterAll(() => app.close());
  beforeEach(() => routes.answers((execution) => ({ execution })));

  function order(key: string, path = 'orders'): Promise<Received> {
    return send(`${app.url}/${path}`, { key, body: {} });
  }

  async function exists(key: string): Promise<boolean> {
    const rows = await app.database.query('SELECT 1 FROM idempotency_keys WHERE key = $1', [key]);
    return rows.length > 0;
  }

  it('is withdrawn if it is made after its request was refused', async () => {
    await withTransaction(app.database, async (tx) => {
      await tx.query('LOCK TABLE idempotency_keys IN SHARE MODE');
      const refused = order('too-slow');
      await untilBlocked(app.database);
      expectRetryable(await refused, 503, 'store_unavailable');
      await tx.query('COMMIT');
    });
    // The statement continues in the database; its row is inserted and removed.
    await until(async () => app.proxy.count(/DELETE FROM "idempotency_keys"/) > 0, 'withdrawal');
    await until(async () => !(await exists('too-slow')), 'no row');
    expect(routes.executions).toBe(0);

    expect((await order('too-slow')).status).toBe(201);
    expect(routes.executions).toBe(1);
  });

  it('is withdrawn if its reply arrives after its request was refused', async () => {
    const reply = app.proxy.holdReply(RESERVE);
    expectRetryable(await order('late-reply'), 503, 'store_unavailable');
    expect(await keyRow(app.database, 'late-reply')).toMatchObject({ status: 'in_progress' });

    reply.release();
    await until(async () => !(await exists('late-reply')), 'no row');
    expect((await order('late-reply')).status).toBe(201);
    expect(routes.executions).toBe(1);
  });

  it('is withdrawn before its lease lapses if its reply never arrives', async () => {
    app.proxy.holdReply(RESERVE);
    expectRetryable(await order('no-reply', 'short-leased'), 503, 'store_unavailable');

    await until(async () => !(await exists('no-reply')), 'no row');
    expect((await order('no-reply', 'short-leased')).status).toBe(201);
    expect(routes.executions).toBe(1);
  });

  it('is withdrawn before its process ends', async () => {
    const { database } = app;
    const ending = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: { storeTimeout: '1s' },
      database,
    });
    const orderThere = (key: string) => send(`${ending.url}/orders`, { key, body: {} });
    expect((await orderThere('before')).status).toBe(201);
    ending.proxy.holdReply(RESERVE);
    expectRetryable(await orderThere('ending'), 503, 'store_unavailable');
    expect(await keyRow(database, 'ending')).toMatchObject({ status: 'in_progress' });
    await ending.close();

    expect(await exists('ending')).toBe(false);
  });

  it('is not looked for if the server has refused the statement', async () => {
    const database = await createTestDatabase();
    const refusing = await startProxiedApp(platform, {
      controllers: [routes.controller],
      database,
    });
    await database.query('ALTER TABLE idempotency_keys RENAME TO elsewhere');
    const refused = await send(`${refusing.url}/orders`, { key: 'refused', body: {} });
    expectRetryable(refused, 503, 'store_unavailable');
    await refusing.close();

    expect(refusing.proxy.count(GIVE_BACK)).toBe(0);
    await database.drop();
  });

  it('that is a takeover is withdrawn, and the key stays open', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new InternalServerErrorException();
      return { execution };
    });
    expect((await order('taken-over')).status).toBe(500);
    const reply = app.proxy.holdReply(TAKE_OVER);
    expectRetryable(await order('taken-over'), 503, 'store_unavailable');
    expect(await keyRow(app.database, 'taken-over')).toMatchObject({ status: 'in_progress' });

    reply.release();
    await until(async () => {
      return (await keyRow(app.database, 'taken-over')).status === 'failed_retryable';
    }, 'an open key');
    expect((await order('taken-over')).status).toBe(201);
    expect(routes.executions).toBe(2);
  });
});
