import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { describePhases } from '../support/phase-app.js';

describePhases('inspect()', (app) => {
  it('shows a key with its phases, its attempts and the decisions about it', async () => {
    let lost = true;
    app.handle('ride', async (phases) => {
      const ride = await phases.local('ride_created', async () => ({ ride: 7 }));
      await phases.foreign('charge_created', {
        request: { amount: 100 },
        call: async () => {
          if (lost) throw new Error('time-out');
          return { charge: 'ch_1' };
        },
      });
      return ride;
    });
    await app.post('ride', 'watched');
    const { id } = await keyRow(app.database, 'watched');
    const operator = operatorOf(app);
    const { effectKey } = (await operator.inspect(id))!.inDoubt!;
    const by = { who: 'ada', why: 'the books show no charge' };
    await operator.resolve(effectKey, { outcome: 'not_executed' }, by);
    lost = false;
    const answer = await app.post('ride', 'watched');

    const report = (await operator.inspect(id))!;
    expect(report).toMatchObject({
      id,
      key: 'watched',
      status: 'completed',
      recoveryPoint: 'finished',
      attempt: 2,
      inDoubt: null,
      answer: {
        status: 201,
        headers: { 'content-type': answer.headers.get('content-type') },
        bytes: answer.body.length,
      },
      phases: [
        { name: 'ride_created', kind: 'local', state: 'finished', attempt: 1, result: { ride: 7 } },
        {
          name: 'charge_created',
          kind: 'foreign',
          state: 'finished',
          attempt: 2,
          effectKey,
          request: { amount: 100 },
          result: { charge: 'ch_1' },
        },
      ],
      audit: [{ action: 'resolve', effectKey, who: 'ada', why: 'the books show no charge' }],
    });
    expect(report.answer).not.toHaveProperty('body');
    expect(report.timeline.map(({ what, attempt }) => `${what} ${attempt ?? ''}`.trim())).toEqual([
      'reserved 1',
      'ride_created: finished 1',
      'resolve by ada',
      'attempt began 2',
      'charge_created: call intended',
      'charge_created: finished 2',
      'completed',
    ]);
  });

  it('returns nothing for a key that does not exist', async () => {
    for (const id of ['0', '999999', 'watched', '', '1; DROP TABLE idempotency_keys']) {
      expect(await operatorOf(app).inspect(id)).toBeUndefined();
    }
  });

  it('shows the jobs of the process', async () => {
    expect(await operatorOf(app).jobs()).toEqual(
      expect.arrayContaining(
        ['sweeper', 'reaper', 'completer', 'reconciler', 'outbox'].map((name) =>
          expect.objectContaining({ name, running: false, failures: 0 }),
        ),
      ),
    );
  });
});
