import { expect, it } from '@jest/globals';
import { PhaseStoppedError } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

const timeout = () => Promise.reject(new Error('timeout'));

describePhases('Phases after a phase in doubt', (app) => {
  it.each(['stop', 'repeat', 'reconcile'] as const)(
    'do not start, whatever the handler catches (inDoubt: %s)',
    async (inDoubt) => {
      const thrown: unknown[] = [];
      const keep = (error: unknown) => void thrown.push(error);
      let calls = 0;
      app.handle('charge', async (phases) => {
        await phases.foreign('charge_created', { call: timeout, inDoubt }).catch(() => undefined);
        await phases.local('receipt_staged', (tx) => note(tx, 'receipt')).catch(keep);
        await phases.foreign('mail_sent', { call: async () => ++calls }).catch(keep);
        return 'all is well';
      });

      const answer = await app.post('charge', inDoubt);

      expect(answer.status).toBe(409);
      expect(answer.json()).toMatchObject({ code: 'outcome_unknown' });
      expect(thrown).toEqual([
        expect.objectContaining({ phase: 'receipt_staged', stoppedAt: 'charge_created' }),
        expect.objectContaining({ phase: 'mail_sent', stoppedAt: 'charge_created' }),
      ]);
      for (const error of thrown) {
        expect(error).toBeInstanceOf(PhaseStoppedError);
        expect((error as PhaseStoppedError).reason).toBe('in_doubt');
      }
      expect((thrown[0] as Error).message).toMatch(
        /^Phase "receipt_staged" was not started, because of phase "charge_created": it is not known whether its foreign call took effect/,
      );
      expect(calls).toBe(0);
      expect(await app.notes()).toEqual([]);
      expect((await app.phases(inDoubt)).map(({ name }) => name)).toEqual(['charge_created']);
      expect((await keyRow(app.database, inDoubt)).response_status).toBeNull();
    },
  );

  it('start in the next attempt, once the doubt is resolved', async () => {
    let calls = 0;
    app.handle('charge', async (phases) => {
      const charge = await phases
        .foreign('charge_created', {
          call: () => (++calls === 1 ? timeout() : Promise.resolve('ch_1')),
          inDoubt: 'repeat',
        })
        .catch(() => 'maybe');
      await phases.local('receipt_staged', (tx) => note(tx, `receipt for ${charge}`));
      return charge;
    });

    expect((await app.post('charge', 'cleared')).status).toBe(500);
    expect((await app.post('charge', 'cleared')).text).toBe('ch_1');
    expect(await app.notes()).toEqual(['receipt for ch_1']);
  });
});
