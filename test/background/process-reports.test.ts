import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Maintenance } from 'nestjs-atomic-idempotency';
import { ProcessReports } from '../../lib/background/process-reports.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform, type Platform, type TestApp } from '../support/platforms.js';
import { startProxiedApp } from '../support/proxied-app.js';
import { recordingLogger } from '../support/recording-logger.js';

const JOBS = ['sweeper', 'completer', 'reconciler', 'reaper', 'outbox'];
const REPORT = /INSERT INTO "idempotency_processes"/;

const reportsOf = ({ app }: TestApp) => app.get(ProcessReports, { strict: false });

forEachPlatform('The jobs of all processes', (platform) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const rows = () => database.query('SELECT * FROM idempotency_processes');

  function start(on: boolean): Promise<IdempotentApp> {
    return startIdempotentApp(platform, {
      database,
      logger: false,
      // Far apart: a job that runs meanwhile would be seen in one place and not yet in another.
      idempotency: on ? { maintenance: slow() } : {},
    });
  }

  it('are shown by each of them, whether its own are on or off', async () => {
    const [worker, web] = [await start(true), await start(false)];
    await runJob(worker, 'reaper');
    await reportsOf(worker).report();
    await reportsOf(web).report();

    const seen = await operatorOf(web).jobs();
    const own = seen.filter(({ process }) => process.own);
    const others = seen.filter(({ process }) => !process.own);
    expect(own.map(({ name }) => name)).toEqual(JOBS);
    expect(own.every(({ running }) => !running)).toBe(true);
    expect(others.map(({ name }) => name)).toEqual(JOBS);
    expect(others.every(({ running }) => running)).toBe(true);
    expect(others.find(({ name }) => name === 'reaper')).toEqual({
      name: 'reaper',
      running: true,
      handled: 0,
      runs: 1,
      failures: 0,
      lastError: undefined,
      lastRunAt: expect.any(Date),
      nextRunAt: expect.any(Date),
      process: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        host: hostname(),
        pid: process.pid,
        version: '0.1.0',
        startedAt: expect.any(Date),
        reportedAt: expect.any(Date),
        gone: false,
        own: false,
      },
    });
    expect(await operatorOf(worker).jobs()).toHaveLength(10);

    await web.close();
    expect(await operatorOf(worker).jobs()).toHaveLength(5);
    await worker.close();
    expect(await rows()).toEqual([]);
  });

  it('include those of this process as they are now, before its first report', async () => {
    const app = await start(false);
    expect(await rows()).toEqual([]);
    await runJob(app, 'reaper');
    const [reaper] = (await operatorOf(app).jobs()).filter(({ name }) => name === 'reaper');
    expect(reaper).toMatchObject({ runs: 1, process: { own: true, gone: false } });
    expect(app.app.get(Maintenance).status).toHaveLength(5);
    await app.close();
  });

  it('say of a process that it is gone after minutes of silence, and forget it after an hour', async () => {
    const [app, other] = [await start(false), await start(false)];
    await reportsOf(other).report();
    const pass = (time: string) =>
      database.query(`UPDATE idempotency_processes SET reported_at = reported_at - $1::interval`, [
        time,
      ]);
    const gone = async () =>
      (await operatorOf(app).jobs())
        .filter(({ process }) => !process.own)
        .map(({ process }) => process.gone);
    expect(await gone()).toEqual(JOBS.map(() => false));
    await pass('4 minutes');
    expect(await gone()).toEqual(JOBS.map(() => true));

    await pass('1 hour');
    await reportsOf(app).report();
    expect(await gone()).toEqual([]);
    expect(await rows()).toHaveLength(1);
    await app.close();
    await other.close();
  });

  describe('are reported', () => {
    it('once, until something changes', async () => {
      const app = await proxied(platform, database);
      await reportsOf(app).report();
      await runJob(app, 'reaper');
      await reportsOf(app).report();
      expect(app.proxy.count(REPORT)).toBe(1);

      await database.query('ALTER TABLE idempotency_jobs RENAME TO elsewhere');
      await expect(runJob(app, 'sweeper')).rejects.toThrow();
      await reportsOf(app).report();
      await reportsOf(app).report();
      expect(app.proxy.count(REPORT)).toBe(2);
      const [row] = await rows();
      expect(row!['jobs']).toContainEqual(
        expect.objectContaining({
          name: 'sweeper',
          failures: 1,
          lastError: expect.stringContaining('idempotency_jobs'),
        }),
      );
      await app.close();
    });

    it('without harm while the database is away: one line in the log, and the next report goes through', async () => {
      const logger = recordingLogger();
      const app = await proxied(platform, database, logger);
      await app.proxy.refuse();
      await reportsOf(app).report();
      await reportsOf(app).report();
      const lines = logger.warnings.filter((line) => line.includes('could not report its jobs'));
      expect(lines).toHaveLength(1);

      await app.proxy.accept();
      await reportsOf(app).report();
      expect(await rows()).toHaveLength(1);
      await app.close();
    });
  });
});

function proxied(platform: Platform, database: TestDatabase, logger = recordingLogger()) {
  return startProxiedApp(platform, { database, logger });
}

function slow() {
  const interval = '1h';
  return {
    sweeper: { interval },
    reaper: { interval },
    completer: { interval },
    reconciler: { interval },
    outbox: { interval, maxInterval: '1h' },
  };
}
