import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError, Maintenance } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { check, insertKey, insertMessage } from './health-app.js';

forEachPlatform('The health indicator', (platform) => {
  let database: TestDatabase;
  let app: IdempotentApp;
  beforeAll(async () => {
    database = await createTestDatabase();
    app = await startIdempotentApp(platform, { database, logger: false });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  beforeEach(() =>
    database.query(
      'TRUNCATE idempotency_keys, idempotency_phases, idempotency_outbox, idempotency_processes',
    ),
  );

  describe('is degraded by', () => {
    it('unknown outcomes that are left to people, and not by those that are asked about', async () => {
      await insertKey(database, { status: 'unknown', reconcileAfter: 'now' });
      expect(await check(app)).toMatchObject({ degraded: false, unknown: 0 });

      await insertKey(database, { status: 'unknown', reconcileAfter: 'infinity' });
      await insertKey(database, { status: 'unknown', reconcileAfter: 'infinity' });
      expect(await check(app)).toMatchObject({
        status: 'up',
        degraded: true,
        reasons: ['Unknown outcomes that are left to people: 2.'],
        unknown: 2,
      });
      expect(await check(app, { unknown: 3 })).toMatchObject({ degraded: false });
      expect(await check(app, { unknown: false })).toMatchObject({ degraded: false });
    });

    it('a message that has been due for long, and not by one that waits or is dead', async () => {
      await insertMessage(database, '-1 hour');
      await insertMessage(database, '1 hour', true);
      await insertMessage(database, '4 minutes');
      expect(await check(app)).toMatchObject({ degraded: false });

      await insertMessage(database, '10 minutes');
      const { degraded, reasons, outboxLag } = await check(app);
      expect(degraded).toBe(true);
      expect(outboxLag).toBeGreaterThanOrEqual(600);
      expect(reasons).toEqual([expect.stringMatching(/^A message of the outbox has been due for/)]);
      expect(await check(app, { outboxLag: '1h' })).toMatchObject({ degraded: false });
      expect(await check(app, { outboxLag: false })).toMatchObject({ degraded: false });
    });

    it('keys that no reaper takes, and not by keys that are kept', async () => {
      await insertKey(database, { expiredFor: '59 minutes' });
      await insertKey(database, { status: 'unknown', reconcileAfter: 'now', expiredFor: '1 day' });
      await insertKey(database, { status: 'in_progress', expiredFor: '1 day' });
      expect(await check(app)).toMatchObject({ degraded: false });

      await insertKey(database, { expiredFor: '2 hours' });
      const { degraded, reasons, expiredBacklog } = await check(app);
      expect(degraded).toBe(true);
      expect(expiredBacklog).toBeGreaterThanOrEqual(7200);
      expect(reasons).toEqual([expect.stringMatching(/^A key has been past its retention/)]);
      expect(await check(app, { expiredBacklog: '1d' })).toMatchObject({ degraded: false });
      expect(await check(app, { expiredBacklog: false })).toMatchObject({ degraded: false });

      await runJob(app, 'reaper');
      expect(await check(app)).toMatchObject({ degraded: false, expiredBacklog: 0 });
    });

    it('a job of this process that keeps failing, until it succeeds', async () => {
      await database.query('ALTER TABLE idempotency_jobs RENAME TO elsewhere');
      await expect(runJob(app, 'sweeper')).rejects.toThrow();
      await expect(runJob(app, 'sweeper')).rejects.toThrow();
      await database.query('ALTER TABLE elsewhere RENAME TO idempotency_jobs');
      expect(await check(app)).toMatchObject({ degraded: false });
      expect(await check(app, { jobFailures: 2 })).toMatchObject({
        degraded: true,
        reasons: ['The sweeper of this process has failed 2 times in a row.'],
      });

      await runJob(app, 'sweeper');
      expect(await check(app, { jobFailures: 1 })).toMatchObject({ degraded: false });
      expect(app.app.get(Maintenance).status).toContainEqual(
        expect.objectContaining({ name: 'sweeper', failures: 0, runs: 3 }),
      );
    });

    it('a job of another process that keeps failing, as long as that process lives', async () => {
      await database.query(
        `INSERT INTO idempotency_processes (id, host, pid, version, jobs)
         VALUES (gen_random_uuid(), 'worker-1', 7, '0.1.0', $1)`,
        [JSON.stringify([{ name: 'outbox', running: true, handled: 0, runs: 9, failures: 4 }])],
      );
      expect(await check(app)).toMatchObject({
        degraded: true,
        reasons: ['The outbox of another process has failed 4 times in a row.'],
      });
      await database.query(
        `UPDATE idempotency_processes SET reported_at = now() - interval '4 minutes'`,
      );
      expect(await check(app)).toMatchObject({ degraded: false });
    });
  });

  it.each([
    [{ degradedAs: 'warn' }, "Use 'up', 'degraded' or 'down'"],
    [{ unknown: 0 }, 'Use a whole number from 1 to 1000, or false'],
    [{ unknown: 5000 }, 'Use a whole number from 1 to 1000, or false'],
    [{ jobFailures: '3' }, 'Use a whole number'],
    [{ outboxLag: 'long' }, "Use a time such as '5m'"],
    [{ maxAge: false }, "Use a time such as '5m'"],
    [{ outboxlag: '5m' }, 'Did you mean outboxLag?'],
  ])('refuses the options %j', async (options, cure) => {
    const refused = check(app, options as object);
    await expect(refused).rejects.toThrow(IdempotencyConfigurationError);
    await expect(refused).rejects.toThrow(cure);
  });
});
