import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { AtomicPhase } from 'nestjs-atomic-idempotency';
import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { barrier } from '../support/barrier.js';
import { describePhases, note } from '../support/phase-app.js';
import { until } from '../support/until.js';

/** Also the time for which conflicts are retried. */
const LEASE = '2s';

const add = (id: number) => `UPDATE accounts SET balance = balance + 1 WHERE id = ${id}`;

/** The ways a transaction can be a phase's. The foreign one's call is counted too. */
const kinds = {
  local: (phases: AtomicPhase, work: (tx: EntityManager) => Promise<void>) =>
    phases.local('moved', work),
  'record of a foreign': (phases: AtomicPhase, work: (tx: EntityManager) => Promise<void>) =>
    phases.foreign('moved', {
      call: async () => void (calls += 1),
      record: work,
    }),
};
let calls = 0;

describePhases(
  'Conflicts in a phase',
  (app) => {
    let rival: PoolClient;

    beforeAll(async () => {
      await app.database.query('CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)');
    });
    beforeEach(async () => {
      calls = 0;
      await app.database.query('TRUNCATE accounts');
      await app.database.query('INSERT INTO accounts VALUES (1, 0), (2, 0)');
      rival = await app.database.pool.connect();
    });
    afterEach(async () => {
      await rival.query('ROLLBACK');
      rival.release();
    });

    const balances = async () =>
      (await app.database.query('SELECT balance FROM accounts ORDER BY id')).map(
        ({ balance }) => balance as number,
      );

    it.each([
      ['local', 'deadlock-local'],
      ['local', undefined],
      ['record of a foreign', 'deadlock-foreign'],
    ] as const)(
      'make the work run again after a deadlock in a %s phase (key: %s)',
      async (kind, key) => {
        const runs: unknown[] = [];
        const lockedFirst = barrier();
        app.handle('move', (phases) =>
          kinds[kind](phases, async (tx) => {
            runs.push(tx);
            // PostgreSQL ends the transaction that checks for deadlocks first: here, the phase.
            await tx.query(`SET LOCAL deadlock_timeout = '10ms'`);
            await note(tx, 'moved');
            await tx.query(add(1));
            await lockedFirst.pass();
            await tx.query(add(2));
          }),
        );

        await rival.query('BEGIN');
        await rival.query(`SET LOCAL deadlock_timeout = '1h'`);
        await rival.query(add(2));
        const answer = app.post('move', key);
        await lockedFirst.arrived();
        const [{ pid }] = (await rival.query('SELECT pg_backend_pid() AS pid')).rows as [
          { pid: number },
        ];
        const rivalsSecond = rival.query(add(1));
        await until(async () => {
          const [row] = await app.database.query(
            'SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1',
            [pid],
          );
          return row?.wait_event_type === 'Lock';
        });
        lockedFirst.open();
        await rivalsSecond;
        await rival.query('COMMIT');

        expect((await answer).status).toBe(201);
        expect(runs).toHaveLength(2);
        expect(runs[0]).not.toBe(runs[1]);
        expect(await balances()).toEqual([2, 2]);
        expect(await app.notes()).toEqual(['moved']);
        expect(calls).toBe(kind === 'local' ? 0 : 1);
      },
    );

    it.each([
      ['repeatable read, at a statement', 'REPEATABLE READ', add(1)],
      ['serializable, at a later statement or the commit', 'SERIALIZABLE', add(2)],
    ])(
      'make the work run again after a serialization failure: %s',
      async (_, level, rivalsWrite) => {
        let runs = 0;
        const hasRead = barrier();
        app.handle('move', (phases) =>
          phases.local('moved', async (tx) => {
            runs += 1;
            await tx.query(`SET TRANSACTION ISOLATION LEVEL ${level}`);
            await tx.query('SELECT sum(balance) FROM accounts');
            await hasRead.pass();
            await note(tx, 'moved');
            await tx.query(add(1));
            return { run: runs };
          }),
        );

        const answer = app.post('move', crypto.randomUUID());
        await hasRead.arrived();
        await rival.query(`BEGIN ISOLATION LEVEL ${level}`);
        await rival.query('SELECT sum(balance) FROM accounts');
        await rival.query(rivalsWrite);
        await rival.query('COMMIT');
        hasRead.open();

        expect((await answer).json()).toEqual({ run: 2 });
        expect((await balances()).reduce((a, b) => a + b)).toBe(2);
        expect(await app.notes()).toEqual(['moved']);
      },
    );

    it('make the work run again, however long it took', async () => {
      let runs = 0;
      const key = crypto.randomUUID();
      app.handle('move', (phases) =>
        phases.local('moved', async (tx) => {
          runs += 1;
          await note(tx, 'moved');
          if (runs > 1) return;
          await until(async () => {
            const [row] = await app.database.query(
              `SELECT now() - last_run_at > interval '${LEASE}' AS long FROM idempotency_keys WHERE key = $1`,
              [key],
            );
            return row!.long;
          });
          await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`);
        }),
      );

      expect((await app.post('move', key)).status).toBe(201);
      expect(runs).toBe(2);
      expect(await app.notes()).toEqual(['moved']);
    });
  },
  { idempotency: { required: false, lease: LEASE } },
);
