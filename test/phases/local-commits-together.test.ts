import { expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** What another connection sees of a request, and hence what a crash would leave. */
async function committed(app: PhaseApp, key: string) {
  const { recovery_point, status } = await keyRow(app.database, key);
  const phases = (await app.phases(key)).map(({ name, state, result }) => ({
    name,
    state,
    result,
  }));
  return { notes: await app.notes(), phases, recovery_point, status };
}

const NOTHING = { notes: [], phases: [], recovery_point: 'started' };

describePhases('A local phase', (app) => {
  it('commits the writes, the result and the recovery point together', async () => {
    const gate = barrier();
    const handlerGoesOn = barrier();
    app.handle('ride', async (phases) => {
      const ride = await phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        await gate.pass();
        return { ride: 1 };
      });
      await handlerGoesOn.pass();
      return ride;
    });

    const answer = app.post('ride', 'together');
    await gate.arrived();
    expect(await committed(app, 'together')).toEqual({ ...NOTHING, status: 'in_progress' });

    gate.open();
    await handlerGoesOn.arrived();
    expect(await committed(app, 'together')).toEqual({
      notes: ['ride'],
      phases: [{ name: 'ride_created', state: 'finished', result: { ride: 1 } }],
      recovery_point: 'ride_created',
      status: 'in_progress',
    });

    handlerGoesOn.open();
    expect((await answer).json()).toEqual({ ride: 1 });
  });

  it('keeps everything or nothing when the process dies around the commit', async () => {
    app.handle('ride', (phases) => phases.local('ride_created', (tx) => note(tx, 'ride')));

    await app.crash('ride_created:before_commit', 'ride', 'before');
    expect(await committed(app, 'before')).toEqual({ ...NOTHING, status: 'in_progress' });

    await app.crash('ride_created:after_commit', 'ride', 'after');
    expect(await committed(app, 'after')).toMatchObject({
      notes: ['ride'],
      phases: [{ name: 'ride_created', state: 'finished' }],
      recovery_point: 'ride_created',
    });
  });

  it('keeps nothing of work that fails', async () => {
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        throw new Error('no rockets left');
      }),
    );

    const answer = await app.post('ride', 'failing');

    expect(answer.status).toBe(500);
    expect(await committed(app, 'failing')).toEqual({ ...NOTHING, status: 'failed_retryable' });
    expect(app.logs).toEqual([expect.stringContaining('no rockets left')]);
  });

  it('keeps nothing of work whose result cannot be stored', async () => {
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        return new Map([['ride', 1]]);
      }),
    );

    const answer = await app.post('ride', 'unstorable');

    expect(answer.status).toBe(500);
    expect(await committed(app, 'unstorable')).toEqual({ ...NOTHING, status: 'failed_retryable' });
  });

  it('keeps nothing of work that the database refuses at the commit', async () => {
    await app.database.query(
      'CREATE TABLE seats (number int UNIQUE DEFERRABLE INITIALLY DEFERRED)',
    );
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        await tx.query('INSERT INTO seats VALUES (1), (1)');
        return { ride: 1 };
      }),
    );

    const answer = await app.post('ride', 'refused');

    expect(answer.status).toBe(500);
    expect(await committed(app, 'refused')).toEqual({ ...NOTHING, status: 'failed_retryable' });
    expect(app.logs).toEqual([expect.stringContaining('duplicate key value')]);
  });

  it('keeps nothing of work that caught an error of its transaction', async () => {
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        await tx.query('SELECT 1 / 0').catch(() => undefined);
        return { ride: 1 };
      }),
    );

    const answer = await app.post('ride', 'swallowing');

    expect(answer.status).toBe(500);
    expect(await committed(app, 'swallowing')).toEqual({ ...NOTHING, status: 'failed_retryable' });
  });

  it('keeps nothing when another attempt owns the key by then', async () => {
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        await app.database.query(
          `UPDATE idempotency_keys SET owner = '00000000-0000-4000-8000-00000000000a', attempt = 2 WHERE key = 'fenced'`,
        );
        return { ride: 1 };
      }),
    );

    const answer = await app.post('ride', 'fenced');

    expect(answer.status).toBe(409);
    expect(answer.json()).toMatchObject({ code: 'lease_lost', retryable: true });
    expect(await committed(app, 'fenced')).toEqual({ ...NOTHING, status: 'in_progress' });
  });
});
