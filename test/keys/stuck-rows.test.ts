import { Controller, Param, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import type { TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { crashAt } from '../support/crash.js';
import { forEachPlatform } from '../support/platforms.js';
import { withTransaction } from '../support/transactions.js';
import { until } from '../support/until.js';

/** As many as the pool of the application has. */
const POOL = 3;

@Controller()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('orders/:name')
  @Idempotent()
  async order(@Param('name') name: string): Promise<object> {
    await this.phase.local('ordered', (tx) => tx.query('SELECT 1'));
    return { name };
  }
}

/** Statements that the application has sent and that are not over. */
async function unfinished(database: TestDatabase): Promise<unknown[]> {
  return database.query(
    `SELECT state, wait_event, query FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'orders' AND state = 'active'`,
  );
}

forEachPlatform('Locked rows', (platform) => {
  describe('A row that stays locked', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [OrdersController],
        idempotency: { storeTimeout: '4s' },
        dataSource: { poolSize: POOL, applicationName: 'orders' },
        logger: false,
      });
    });
    afterAll(() => app.close());

    const order = (key: string) => send(`${app.url}/orders/x`, { key });
    const strangers = async (prefix: string) => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => order(`${prefix}-${n}`)),
      );
      return [...new Set(answers.map(({ status }) => status))];
    };

    it('uses connections for its own requests only, when its owner is stopped', async () => {
      const key = 'frozen';
      await crashAt('ordered:after_commit', `${app.url}/orders/x`, { key });
      await lapse(app.database, key);
      await withTransaction(app.database, async (tx) => {
        // What a process that was stopped in the middle of a phase has left.
        await tx.query('UPDATE idempotency_keys SET last_run_at = now() WHERE key = $1', [key]);
        const retries = Array.from({ length: 4 * POOL }, () => order(key));
        expect(await strangers('beside')).toEqual([201]);
        const statuses = (await Promise.all(retries)).map(({ status }) => status);
        expect([...new Set(statuses)]).toEqual([409]);
        expect(await unfinished(app.database)).toEqual([]);
        // Also of those that come while it is known to be locked.
        expect((await order(key)).json()).toMatchObject({ code: 'in_progress' });
        expect(await strangers('after')).toEqual([201]);
      });
      expect((await order(key)).status).toBe(201);
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'completed', attempt: 2 });
    });

    it('gives 503 if its insert is not committed, and requests for other keys continue', async () => {
      const key = 'uncommitted';
      await withTransaction(app.database, async (tx) => {
        await tx.query(
          `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
           VALUES ('', $1, '', gen_random_uuid(), now())`,
          [key],
        );
        const refused = Promise.all([order(key), order(key), order(key)]);
        expect(await strangers('meanwhile')).toEqual([201]);
        expect((await refused).map(({ status }) => status)).toEqual([503, 503, 503]);
        expect(await unfinished(app.database)).toEqual([]);
      });
      expect((await order(key)).status).toBe(201);
    });

    it('is given up on the server too: no statement waits there for a refused request', async () => {
      await withTransaction(app.database, async (tx) => {
        await tx.query('LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE');
        const refused = await Promise.all(
          Array.from({ length: 2 * POOL }, (_, n) => order(`t${n}`)),
        );
        expect([...new Set(refused.map(({ status }) => status))]).toEqual([503]);
        await until(
          async () => (await unfinished(app.database)).length === 0,
          'the end of every statement that was given up',
        );
      });
      // Its connections are of use again.
      expect(await strangers('again')).toEqual([201]);
    });
  });
});
