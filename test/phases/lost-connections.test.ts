import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { observeFaultPoints } from '../../lib/faults/fault-points.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';
import { until } from '../support/until.js';

async function pidOf(tx: EntityManager): Promise<number> {
  const [{ pid }] = (await tx.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
  return pid;
}

/** As an operator or a failover does it; resolves when the connection's server process is gone. */
async function terminate(app: PhaseApp, pid: number): Promise<void> {
  const [{ gone }] = (await app.database.query(
    'SELECT pg_terminate_backend($1::int, 10000) AS gone',
    [pid],
  )) as [{ gone: boolean }];
  expect(gone).toBe(true);
}

type Interruption = (app: PhaseApp, tx: EntityManager) => Promise<void>;

/** When the connection of a phase's transaction is cut, seen from its work. */
const interruptions: [when: string, interrupt: Interruption][] = [
  [
    'during a statement',
    async (app, tx) => {
      const pid = await pidOf(tx);
      const sleeping = tx.query('SELECT pg_sleep(60)');
      const cut = until(async () => {
        const [row] = await app.database.query(
          `SELECT wait_event FROM pg_stat_activity WHERE pid = $1`,
          [pid],
        );
        return row?.wait_event === 'PgSleep';
      }).then(() => terminate(app, pid));
      await Promise.all([cut, sleeping]);
    },
  ],
  [
    'between two statements',
    async (app, tx) => {
      await terminate(app, await pidOf(tx));
      await until(() => tx.queryRunner!.isReleased, 'TypeORM to notice');
      await note(tx, 'after the cut');
    },
  ],
  [
    'between two statements, unnoticed',
    async (app, tx) => {
      await terminate(app, await pidOf(tx));
      await note(tx, 'after the cut');
    },
  ],
  ['after the last statement', async (app, tx) => terminate(app, await pidOf(tx))],
  [
    'and the work hides it in an error of its own',
    async (app, tx) => {
      await terminate(app, await pidOf(tx));
      await note(tx, 'after the cut').catch((cause: unknown) => {
        throw new Error('could not take the note', { cause });
      });
    },
  ],
];

describePhases('Lost connections', (app) => {
  it.each(interruptions)(
    'of a local phase are followed by a new transaction: %s',
    async (_, interrupt) => {
      let runs = 0;
      app.handle('ride', (phases) =>
        phases.local('ride_created', async (tx) => {
          runs += 1;
          await note(tx, 'ride');
          if (runs === 1) await interrupt(app, tx);
          return { run: runs };
        }),
      );

      const answer = await app.post('ride', randomUUID());

      expect(answer.status).toBe(201);
      expect(answer.json()).toEqual({ run: 2 });
      expect(await app.notes()).toEqual(['ride']);
    },
  );

  it('of a local phase between the fence and the commit are followed by a new transaction', async () => {
    let runs = 0;
    let pid!: number;
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        runs += 1;
        pid = await pidOf(tx);
        await note(tx, 'ride');
        return { run: runs };
      }),
    );
    const stopObserving = observeFaultPoints(async ({ name }) => {
      if (name === 'ride_created:before_commit' && runs === 1) await terminate(app, pid);
    });

    const answer = await app.post('ride', randomUUID()).finally(stopObserving);

    expect(answer.json()).toEqual({ run: 2 });
    expect(await app.notes()).toEqual(['ride']);
  });

  it.each(interruptions)(
    'in the record of a foreign phase do not repeat its call: %s',
    async (_, interrupt) => {
      let calls = 0;
      let records = 0;
      app.handle('charge', (phases) =>
        phases.foreign('charge_created', {
          call: async () => ++calls,
          record: async (tx, call) => {
            records += 1;
            await note(tx, `charge ${call}`);
            if (records === 1) await interrupt(app, tx);
            return { call, record: records };
          },
        }),
      );

      const answer = await app.post('charge', randomUUID());

      expect(answer.json()).toEqual({ call: 1, record: 2 });
      expect(await app.notes()).toEqual(['charge 1']);
    },
  );
});

describePhases(
  'Lost connections without a key',
  (app) => {
    it('are errors: nobody could tell whether the work was committed', async () => {
      let runs = 0;
      app.handle('ride', (phases) =>
        phases.local('ride_created', async (tx) => {
          runs += 1;
          await note(tx, 'ride');
          await terminate(app, await pidOf(tx));
        }),
      );

      expect((await app.post('ride', undefined)).status).toBe(500);
      expect(runs).toBe(1);
      expect(await app.notes()).toEqual([]);
      expect(app.logs).toEqual([expect.stringContaining('lost in phase "ride_created"')]);
    });
  },
  { idempotency: { required: false } },
);
