import { expect, it } from '@jest/globals';
import { PhaseUsageError } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

describePhases('Phases that are not awaited', (app) => {
  it('belong to the request: its answer waits for them', async () => {
    const gate = barrier();
    app.handle('charge', (phases) => {
      void phases.local('ride_created', async (tx) => {
        await gate.pass();
        await note(tx, 'ride');
      });
      return 'done';
    });

    const answer = app.post('charge', 'waiting');
    await gate.arrived();
    expect(await keyRow(app.database, 'waiting')).toMatchObject({ status: 'in_progress' });
    gate.open();

    expect((await answer).text).toBe('done');
    expect(await app.notes()).toEqual(['ride']);
    expect(await app.phases('waiting')).toMatchObject([{ state: 'finished' }]);
  });

  it('leave no payment whose outcome is not recorded', async () => {
    const gate = barrier();
    let failed!: Promise<unknown>;
    app.handle('charge', (phases) => {
      failed = phases
        .foreign('charge_created', {
          call: async () => {
            await gate.pass();
            throw new Error('timeout');
          },
        })
        .catch((error: unknown) => error);
      return 'done';
    });

    const answer = app.post('charge', 'doubtful');
    await gate.arrived();
    gate.open();

    expect((await answer).json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
    expect(await failed).toEqual(new Error('timeout'));
    expect(await keyRow(app.database, 'doubtful')).toMatchObject({ status: 'unknown' });
  });

  it('may be the last one: after it, the request is over', async () => {
    const gate = barrier();
    let second!: Promise<unknown>;
    app.handle('charge', (phases) => {
      second = phases
        .local('first', async () => gate.pass())
        .then(() => phases.local('second', (tx) => note(tx, 'second')))
        .catch((error: unknown) => error);
      return 'done';
    });

    const answer = app.post('charge', 'last');
    await gate.arrived();
    gate.open();

    expect((await answer).status).toBe(201);
    expect(await second).toBeInstanceOf(PhaseUsageError);
    expect(await app.notes()).toEqual([]);
    expect((await app.phases('last')).map(({ name }) => name)).toEqual(['first']);
  });
});
