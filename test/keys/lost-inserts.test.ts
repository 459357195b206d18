import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { RESERVE } from '../support/store-statements.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';

/** Another process's reservation for the same request under another key. */
const INSERT = `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
  SELECT scope, $1, fingerprint, gen_random_uuid(), now() + interval '1 minute'
  FROM idempotency_keys WHERE key = 'model'`;

// A request that loses the insert to a transaction which is still open waits
// for it, and then cannot see its row: the statement looks at the database as
// it was when the statement began. "I did not insert, and I see nothing" must
// never be read as "the key is free".
forEachPlatform((platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [routes.controller] });
    routes.answers((execution) => ({ execution }));
    await order('model');
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  it('looks again when the other insert commits, and finds the winner', async () => {
    const before = routes.executions;
    const reservations = app.proxy.count(RESERVE);

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
    expect(app.proxy.count(RESERVE)).toBe(reservations + 2);
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

  it("reserves, and does not just run, when the winner's row is gone by then", async () => {
    const before = routes.executions;

    const answer = await withTransaction(app.database, async (winner) => {
      await winner.query(INSERT, ['gone']);
      const loser = order('gone');
      await untilBlocked(app.database);
      // The loser comes back for its second look, and meanwhile the row goes.
      const second = app.proxy.holdStatement(RESERVE);
      await winner.query('COMMIT');
      await second.reached;
      await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'gone'`);
      second.release();
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
