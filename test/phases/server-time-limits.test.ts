import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { keyRow } from '../support/idempotent-app.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';

forEachPlatform('Time limits of the server', (platform) => {
  let database: TestDatabase;
  let app: PhaseApp;
  let runs: number;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(
      `ALTER DATABASE ${database.name} SET idle_in_transaction_session_timeout = '200ms'`,
    );
    app = await startPhaseApp(platform, { database });
  });
  beforeEach(async () => {
    runs = 0;
    app.logs.length = 0;
    await database.query('TRUNCATE notes');
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  async function pidOf(tx: EntityManager): Promise<number> {
    const [{ pid }] = (await tx.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    return pid;
  }

  /** The server has ended the session, because nothing happened in it. */
  async function untilGone(pid: number): Promise<void> {
    await until(async () => {
      const rows = await database.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid]);
      return rows.length === 0;
    }, `the end of session ${pid}`);
  }

  /** A handler with a phase whose work is interrupted in its first runs. */
  function handleRide(interruptions: number, interrupt: (pid: number) => Promise<unknown>): void {
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        runs += 1;
        await note(tx, 'ride');
        if (runs <= interruptions) await interrupt(await pidOf(tx));
        return { run: runs };
      }),
    );
  }

  describe('A phase that waits for longer than the server allows', () => {
    it('runs three times at most, and the log names the setting and the remedy', async () => {
      handleRide(Infinity, untilGone);
      expect((await app.post('ride', 'idle')).status).toBe(500);
      expect(runs).toBe(3);
      expect(await app.notes()).toEqual([]);
      expect(await keyRow(database, 'idle')).toMatchObject({ status: 'failed_retryable' });

      const reason =
        /terminating connection due to idle-in-transaction timeout\. The server's idle_in_transaction_session_timeout .*foreign phase.*raise the setting/;
      expect(app.logs).toHaveLength(4);
      for (const line of app.logs) expect(line).toMatch(reason);
      expect(app.logs[0]).toMatch(/"ride_created" .* lost its connection in run 1 of at most 3/);
      expect(app.logs[3]).toMatch(/was lost in phase "ride_created" in each of 3 runs/);
    });

    it('is done by a retry once it no longer waits', async () => {
      handleRide(3, untilGone);
      expect((await app.post('ride', 'later')).status).toBe(500);
      expect((await app.post('ride', 'later')).json()).toEqual({ run: 4 });
      expect(await app.notes()).toEqual(['ride']);
    });

    it('is done in its second run if that does not wait', async () => {
      handleRide(1, untilGone);
      expect((await app.post('ride', 'second')).json()).toEqual({ run: 2 });
      expect(await app.notes()).toEqual(['ride']);
    });
  });

  it("are not the reason if an operator ends the session each time: three runs, and the log has the server's message", async () => {
    handleRide(Infinity, (pid) =>
      database.query('SELECT pg_terminate_backend($1::int, 10000)', [pid]),
    );
    expect((await app.post('ride', 'terminated')).status).toBe(500);
    expect(runs).toBe(3);
    expect(app.logs[0]).toContain('terminating connection due to administrator command');
  });
});
