import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { LOOK_UP } from '../support/store-statements.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';

/** Another process's reservation for the same request under another key. */
const INSERT = `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
  SELECT scope, $1, fingerprint, gen_random_uuid(), now() + interval '1 minute'
  FROM idempotency_keys WHERE key = 'model'`;

// A request that loses the insert to a transaction which is still open waits for
// it, and then reads the winner's row, which may be gone by then. "I did not
// insert, and I see nothing" must never be read as "the key is free".
forEachPlatform('A reservation whose insert lost', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [routes.controller] });
    routes.answers((execution) => ({ execution }));
    await order('model');
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  it('finds the winner when the other insert commits', async () => {
    const before = routes.executions;

    const answer = await withTransaction(app.database, async (winner) => {
      await winner.query(INSERT, ['committed']);
      const loser = order('committed');
      await untilBlocked(app.database);
      await winner.query('COMMIT');
      return loser;
    });

    expect(answer.status).toBe(409);
    expect(answer.json().code).toBe('in_progress');
    expect(routes.executions).toBe(before);
  });

  it('runs when the other insert is rolled back', async () => {
    const before = routes.executions;

    const answer = await withTransaction(app.database, async (winner) => {
      await winner.query(INSERT, ['rolled-back']);
      const loser = order('rolled-back');
      await untilBlocked(app.database);
      await winner.query('ROLLBACK');
      return loser;
    });

    expect(answer.status).toBe(201);
    expect(routes.executions).toBe(before + 1);
    expect((await keyRow(app.database, 'rolled-back')).status).toBe('completed');
  });

  it("reserves before it runs when the winner's row is gone by then", async () => {
    const before = routes.executions;

    const answer = await withTransaction(app.database, async (winner) => {
      await winner.query(INSERT, ['gone']);
      const loser = order('gone');
      await untilBlocked(app.database);
      // The loser is about to read the row, and meanwhile it goes.
      const look = app.proxy.holdStatement(LOOK_UP);
      await winner.query('COMMIT');
      await look.reached;
      await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'gone'`);
      look.release();
      return loser;
    });

    expect(answer.status).toBe(201);
    expect(routes.executions).toBe(before + 1);
    expect((await keyRow(app.database, 'gone')).status).toBe('completed');
    const retry = await order('gone');
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(routes.executions).toBe(before + 1);
  });
});
