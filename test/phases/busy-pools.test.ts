import { describe, expect, it } from '@jest/globals';
import type { AtomicPhase } from 'nestjs-atomic-idempotency';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** Takes the only connection, and gives it back when two have waited for one in vain. */
async function occupy(app: PhaseApp): Promise<{ refusals: () => number }> {
  const dataSource = app.app.get(DataSource);
  const runner = dataSource.createQueryRunner();
  await runner.connect();
  const pool = (dataSource.driver as unknown as { master: Pool }).master;
  const { connect } = pool;
  let refusals = 0;
  pool.connect = function (this: Pool, done: (error?: Error, ...rest: unknown[]) => void) {
    connect.call(this, ((error?: Error, ...rest: unknown[]) => {
      if (error && ++refusals === 2) {
        pool.connect = connect;
        void runner.release();
      }
      done(error, ...rest);
    }) as never);
  } as never;
  return { refusals: () => refusals };
}

type Run = (phases: AtomicPhase, occupied: () => Promise<unknown>) => Promise<unknown>;

/** What comes first when the pool is occupied, after a call that has taken effect. */
const steps: [what: string, name: string, run: Run][] = [
  [
    'a local phase',
    'local',
    async (phases, occupied) => {
      await phases.foreign('charge_created', { call: async () => 'charged' });
      await occupied();
      return phases.local('noted', (tx) => note(tx, 'local'));
    },
  ],
  [
    'the record of a foreign phase',
    'record',
    (phases, occupied) =>
      phases.foreign('charge_created', { call: occupied, record: (tx) => note(tx, 'record') }),
  ],
  [
    'the result of a foreign phase',
    'result',
    (phases, occupied) => phases.foreign('charge_created', { call: occupied }),
  ],
];

describe.each(['ietf', 'stripe'] as const)('Busy pools in dialect %s', (dialect) => {
  describePhases(
    'that are busy for longer than connectTimeoutMS',
    (app) => {
      it.each(steps)('are waited for by %s', async (_, name, run) => {
        let busy!: { refusals: () => number };
        app.handle('ride', async (phases) => {
          await run(phases, async () => {
            busy = await occupy(app);
            return 'charged';
          });
          return 'all is well';
        });

        const answer = await app.post('ride', name);

        expect(answer.text).toBe('all is well');
        expect(busy.refusals()).toBe(2);
        expect(await app.notes()).toEqual(name === 'result' ? [] : [name]);
        expect(await keyRow(app.database, name)).toMatchObject({
          status: 'completed',
          response_status: 201,
        });
      });
    },
    { dataSource: { extra: { max: 1 }, connectTimeoutMS: 200 }, idempotency: { dialect } },
  );
});
