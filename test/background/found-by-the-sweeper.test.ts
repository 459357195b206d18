import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { crashAt } from '../support/crash.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { refuseStatements } from '../support/store-faults.js';
import { withTransaction } from '../support/transactions.js';

@Controller()
class OrdersController {
  @Post('orders')
  @Idempotent({ onAbandoned: 'resume' })
  order(): object {
    return {};
  }
}

const INSERT = `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, created_at, on_abandoned)
  VALUES ('', $1, '', gen_random_uuid(), now() - interval '1 second', now() - $2::interval, 'resume')`;

forEachPlatform('The sweeper', (platform) => {
  describe('A dead attempt', () => {
    const logger = recordingLogger();
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [OrdersController], logger });
    });
    afterAll(() => app.close());

    const die = async (key: string) => {
      await crashAt('recording:before', `${app.url}/orders`, { key });
      await age(app.database, key);
    };
    const statusOf = async (key: string) => (await keyRow(app.database, key)).status as string;
    const position = async () => {
      const [row] = await app.database.query<{ position: string }>(
        'SELECT position::text FROM idempotency_jobs',
      );
      return Number(row?.position ?? 0);
    };

    it('is found again after a statement about it has failed, and others do not wait for it', async () => {
      await die('refused');
      await die('other');
      const repair = await refuseStatements(app.database, 'UPDATE', 'refused');
      // The walk cannot mark it either, so it does not pass it by.
      await expect(runJob(app, 'sweeper')).rejects.toThrow();
      await repair();
      await runJob(app, 'sweeper');
      expect(await statusOf('refused')).toBe('failed_retryable');
      expect(await statusOf('other')).toBe('failed_retryable');
    });

    it('is found after a lock on it is released, and others do not wait for it', async () => {
      await die('locked');
      await die('beside');
      await withTransaction(app.database, async (tx) => {
        await tx.query(`SELECT FROM idempotency_keys WHERE key = 'locked' FOR UPDATE`);
        await runJob(app, 'sweeper');
        expect(await statusOf('beside')).toBe('failed_retryable');
        expect(await statusOf('locked')).toBe('in_progress');
      });
      await runJob(app, 'sweeper');
      expect(await statusOf('locked')).toBe('failed_retryable');
    });

    it('is found if its owner renewed the lease meanwhile and died after that', async () => {
      await die('renewed');
      await app.database.query(
        `UPDATE idempotency_keys SET locked_until = now() + interval '1 hour' WHERE key = 'renewed'`,
      );
      for (let n = 0; n < 2; n++) await runJob(app, 'sweeper');
      expect(await statusOf('renewed')).toBe('in_progress');
      await age(app.database, 'renewed');
      await runJob(app, 'sweeper');
      expect(await statusOf('renewed')).toBe('failed_retryable');
    });

    it('is found if its row became visible after the sweeper had passed later rows', async () => {
      await withTransaction(app.database, async (tx) => {
        await tx.query(INSERT, ['late', '0 s']); // draws its id, and commits at the end
        await app.database.query(INSERT, ['after-it', '30 seconds']);
        await runJob(app, 'sweeper');
        expect(await statusOf('after-it')).toBe('failed_retryable');
        await tx.query('COMMIT');
      });
      await runJob(app, 'sweeper');
      expect(await statusOf('late')).toBe('failed_retryable');
    });

    it('is found by a process that starts, which reads no row twice', async () => {
      await app.database.query(INSERT, ['long-ago', '1 day']);
      await runJob(app, 'sweeper');
      const walked = await position();
      const { id } = await keyRow(app.database, 'long-ago');
      expect(walked).toBe(Number(id));

      await die('after-the-walk');
      const restarted = await startIdempotentApp(platform, { database: app.database, logger });
      await runJob(restarted, 'sweeper');
      expect(await statusOf('after-the-walk')).toBe('failed_retryable');
      expect(await position()).toBeGreaterThan(walked);
      await restarted.close();
    });

    it('is looked for by one process at a time', async () => {
      const [row] = await app.database.query(
        `SELECT claimed_until > now() AS claimed FROM idempotency_jobs WHERE job = 'sweeper'`,
      );
      expect(row).toEqual({ claimed: true });
    });
  });
});
