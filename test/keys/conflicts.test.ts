import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { InternalServerErrorException } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, RESERVE, TAKE_OVER } from '../support/store-statements.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';

// The library needs READ COMMITTED only. Where the database gives every
// transaction a stricter level, or a deadlock occurs, a statement that was
// refused did nothing and is simply sent again.
forEachPlatform('Conflicts in the database', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let database: TestDatabase;
  let app: ProxiedApp;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(
      `ALTER DATABASE ${database.name} SET default_transaction_isolation = 'repeatable read'`,
    );
    app = await startProxiedApp(platform, { controllers: [routes.controller], database });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  beforeEach(() => routes.answers((execution) => ({ execution })));

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  /** Makes `statement` wait for a row that then changes under it, which it is not allowed to see. */
  async function disturb(statement: RegExp, key: string, work: () => Promise<Received>) {
    const sent = app.proxy.count(statement);
    const held = app.proxy.holdStatement(statement);
    const answer = work();
    await held.reached;
    await withTransaction(database, async (tx) => {
      await tx.query(
        'UPDATE idempotency_keys SET reconcile_attempts = reconcile_attempts + 1 WHERE key = $1',
        [key],
      );
      held.release();
      await untilBlocked(database);
      await tx.query('COMMIT');
    });
    const received = await answer;
    expect(app.proxy.count(statement)).toBe(sent + 2);
    return received;
  }

  it('make a reservation run again after a serialization failure', async () => {
    await order('model');
    const sent = app.proxy.count(RESERVE);
    const answer = await withTransaction(database, async (tx) => {
      await tx.query(
        `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
         SELECT scope, 'contended', fingerprint, gen_random_uuid(), now() + interval '1 minute'
         FROM idempotency_keys WHERE key = 'model'`,
      );
      const loser = order('contended');
      await untilBlocked(database);
      await tx.query('COMMIT');
      return loser;
    });
    expect(answer.json()).toMatchObject({ code: 'in_progress' });
    expect(app.proxy.count(RESERVE)).toBe(sent + 2);
  });

  it('make a takeover run again after a serialization failure', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new InternalServerErrorException();
      return { execution };
    });
    expect((await order('resumed')).status).toBe(500);

    const answer = await disturb(TAKE_OVER, 'resumed', () => order('resumed'));
    expect(answer.status).toBe(201);
    expect(routes.executions).toBe(2);
    expect(await keyRow(database, 'resumed')).toMatchObject({ status: 'completed', attempt: 2 });
  });

  it('make a recording run again after a serialization failure', async () => {
    const answer = await disturb(FINISH, 'recorded', () => order('recorded'));
    expect(answer.status).toBe(201);
    expect(routes.executions).toBe(1);
    expect(await keyRow(database, 'recorded')).toMatchObject({ status: 'completed', attempt: 1 });
  });

  it('make reservations and recordings run again after a deadlock', async () => {
    // What a sequence has counted is not undone with the statement that counted.
    await database.query('CREATE SEQUENCE deadlocks');
    await database.query(`
      CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('deadlocks') IN (1, 2, 4, 5) THEN
          RAISE 'deadlock detected' USING ERRCODE = 'deadlock_detected';
        END IF;
        RETURN NEW;
      END $$`);
    await database.query(`
      CREATE TRIGGER deadlock BEFORE INSERT OR UPDATE ON idempotency_keys
      FOR EACH ROW WHEN (NEW.key = 'deadlocked') EXECUTE FUNCTION deadlock()`);

    const reservations = app.proxy.count(RESERVE);
    const recordings = app.proxy.count(FINISH);
    expect((await order('deadlocked')).status).toBe(201);
    expect(app.proxy.count(RESERVE)).toBe(reservations + 3);
    expect(app.proxy.count(FINISH)).toBe(recordings + 3);
    expect(routes.executions).toBe(1);
    expect(await keyRow(database, 'deadlocked')).toMatchObject({ status: 'completed' });
  });
});
