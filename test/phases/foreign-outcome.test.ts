import { expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

/** What a client library of another system returns: more than JSON can hold. */
class Charge {
  readonly id = 'ch_1';
  readonly paidAt = new Date(0);
  isPaid(): boolean {
    return true;
  }
}

describePhases('The outcome of a foreign phase', (app) => {
  it('is the result of the call, in its JSON shape', async () => {
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call: async () => new Charge() }),
    );

    expect((await app.post('charge', 'plain')).json()).toEqual({
      id: 'ch_1',
      paidAt: '1970-01-01T00:00:00.000Z',
    });
    expect(await app.phases('plain')).toMatchObject([
      { state: 'finished', result: { id: 'ch_1' } },
    ]);
  });

  it('is what record makes of the raw result, committed with its writes', async () => {
    const gate = barrier();
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: async () => new Charge(),
        record: async (tx, charge) => {
          await note(tx, `paid: ${charge.isPaid()} at ${charge.paidAt.getTime()}`);
          await gate.pass();
          return { chargeId: charge.id };
        },
      }),
    );

    const answer = app.post('charge', 'recorded');
    await gate.arrived();
    expect(await app.notes()).toEqual([]);
    expect(await app.phases('recorded')).toMatchObject([{ state: 'intended', result: null }]);
    gate.open();

    expect((await answer).json()).toEqual({ chargeId: 'ch_1' });
    expect(await app.notes()).toEqual(['paid: true at 0']);
    expect(await app.phases('recorded')).toMatchObject([
      { state: 'finished', result: { chargeId: 'ch_1' }, finished_at: expect.any(Date) },
    ]);
  });

  it('is stored with all writes or not at all when the process dies around its commit', async () => {
    let calls = 0;
    app.handle('charge', async (phases) => {
      const charge = await phases.foreign('charge_created', {
        call: async () => ({ call: ++calls }),
        record: async (tx, result) => {
          await note(tx, `call ${result.call}`);
          return result;
        },
        inDoubt: 'repeat',
      });
      return charge;
    });

    await app.crash('charge_created:before_commit', 'charge', 'dying');
    expect(await app.notes()).toEqual([]);
    expect(await app.phases('dying')).toMatchObject([{ state: 'intended', result: null }]);
    expect(await keyRow(app.database, 'dying')).toMatchObject({ recovery_point: 'started' });

    await app.crash('charge_created:after_commit', 'charge', 'dying');
    expect(await app.notes()).toEqual(['call 2']);
    expect(await app.phases('dying')).toMatchObject([{ state: 'finished', result: { call: 2 } }]);
    expect(await keyRow(app.database, 'dying')).toMatchObject({
      recovery_point: 'charge_created',
    });

    expect((await app.post('charge', 'dying')).json()).toEqual({ call: 2 });
    expect(calls).toBe(2);
    expect(await app.notes()).toEqual(['call 2']);
  });

  it('is in doubt when record fails, because the other system has acted', async () => {
    let calls = 0;
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: async () => ++calls,
        record: async (tx) => {
          await note(tx, 'charged');
          throw new Error('no such ride');
        },
      }),
    );

    const answer = await app.post('charge', 'unrecorded');

    expect(answer.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
    expect(await app.notes()).toEqual([]);
    expect(await app.phases('unrecorded')).toMatchObject([{ state: 'intended' }]);
    expect(await keyRow(app.database, 'unrecorded')).toMatchObject({ status: 'unknown' });
    expect(app.logs).toContainEqual(expect.stringContaining('no such ride'));
    expect(calls).toBe(1);
  });
});
