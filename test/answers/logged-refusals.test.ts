import { randomBytes } from 'node:crypto';
import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

let executions = 0;

@Controller()
class ShopController {
  @Post('orders')
  @Idempotent()
  order() {
    return { order: ++executions };
  }

  @Post('rides')
  @Idempotent()
  ride() {
    return { ride: ++executions };
  }
}

const role = `limited_${randomBytes(6).toString('hex')}`;
const SECRET = 'secret-of-the-client';

forEachPlatform('Logged refusals', (platform) => {
  const logger = recordingLogger();
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`CREATE ROLE ${role}`);
    await database.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    await database.query(`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
  });
  beforeEach(() => {
    executions = 0;
    logger.warnings.length = 0;
    logger.errors.length = 0;
  });
  afterAll(async () => {
    // Its new connections accept no writes by themselves any more.
    await database.query(`BEGIN READ WRITE; DROP OWNED BY ${role}; DROP ROLE ${role}; COMMIT`);
    await database.drop();
  });

  async function withApp(options: string, test: (app: IdempotentApp) => Promise<void>) {
    const app = await startIdempotentApp(platform, {
      controllers: [ShopController],
      idempotency: { scope: () => SECRET, storeTimeout: '1s' },
      dataSource: { applicationName: 'shop', extra: { options } },
      database,
      logger,
    });
    await test(app);
    await app.close();
  }

  it('of misused keys are one line per burst and route, without any data of clients', async () => {
    await withApp('', async (app) => {
      for (const path of ['orders', 'rides']) {
        const key = `${path}-${SECRET}`;
        for (const n of [1, 2, 3, 4]) {
          const body = { [SECRET]: n };
          expect((await send(`${app.url}/${path}`, { key, body })).status).toBe(
            n === 1 ? 201 : 422,
          );
        }
      }
    });
    const lines = logger.warnings.filter((line) => line.includes('used before'));
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual([
      expect.stringMatching(/^ShopController\.order \(scope [0-9a-f]{8}\)$/),
      expect.stringMatching(/^ShopController\.ride \(scope [0-9a-f]{8}\)$/),
    ]);
    expect(lines.join()).not.toContain(SECRET);
    expect(logger.errors).toEqual([]);
  });

  describe("with 503 are one line per burst, with the database's message", () => {
    /** After the boot, which checks it: the primary has become a standby, rights were taken away. */
    const becomesReadOnly = async () => {
      await database.query(
        `ALTER DATABASE ${database.name} SET default_transaction_read_only = on`,
      );
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'shop'`,
      );
    };
    const losesRights = () => database.query(`REVOKE INSERT ON idempotency_keys FROM ${role}`);

    it.each([
      ['of missing rights', `-c role=${role}`, losesRights, /permission denied for .*\(42501\)/],
      ['of a standby', '', becomesReadOnly, /read-only transaction \(25006\)/],
    ])('%s', async (_, options, happens, words) => {
      await withApp(options, async (app) => {
        await happens();
        for (const key of ['a', 'b', 'c']) {
          expect((await send(`${app.url}/orders`, { key: key + SECRET })).status).toBe(503);
        }
      });
      // A server that accepts no writes also opens the circuit breaker, which says so once.
      const refusals = logger.errors.filter((line) => !line.startsWith('The database has failed'));
      expect(refusals).toEqual([expect.stringMatching(words)]);
      expect(refusals[0]).toContain('ShopController.order');
      expect(logger.errors.join()).not.toContain(SECRET);
      expect(executions).toBe(0);
    });
  });
});
