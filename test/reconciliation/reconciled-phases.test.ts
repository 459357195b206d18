import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { describePhases, note } from '../support/phase-app.js';
import { Charges, handleCharge } from './charges.js';

describePhases(
  'A reconciled phase',
  (app) => {
    let key: string;
    beforeEach(async () => {
      key = randomUUID();
      await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
      app.app.get(Charges).says = () => ({ outcome: 'executed', result: { id: 'ch_1' } });
    });

    it('keeps its resolution over a resume that dies before it could record it', async () => {
      const calls = handleCharge(app);
      await app.post('charge', key);
      await runJob(app, 'reconciler');

      await app.crash('charge_created:before_commit', 'charge', key);
      expect(await app.phases(key)).toMatchObject([{ state: 'reconciled' }]);
      expect(await app.notes()).toEqual([]);

      expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
      expect(calls).toHaveLength(1);
      expect(await app.notes()).toEqual(['recorded {"id":"ch_1"}', 'receipt']);
    });

    it('is not in doubt again when record fails: a retry records it', async () => {
      let failures = 1;
      let calls = 0;
      app.handle('charge', (phases) =>
        phases.foreign('charge_created', {
          call: () => {
            calls += 1;
            return Promise.reject(new Error('time-out'));
          },
          record: async (tx, result) => {
            if (failures-- > 0) throw new Error('no such ride');
            await note(tx, 'recorded');
            return result;
          },
        }),
      );
      await app.post('charge', key);
      await runJob(app, 'reconciler');

      expect((await app.post('charge', key)).status).toBe(500);
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
      expect(await app.phases(key)).toMatchObject([{ state: 'reconciled' }]);
      expect((await app.post('charge', key)).status).toBe(201);
      expect(await app.notes()).toEqual(['recorded']);
      expect(calls).toBe(1);
    });

    it('holds the answer as long as the handler has not used the resolution', async () => {
      handleCharge(app);
      await app.post('charge', key);
      await runJob(app, 'reconciler');

      app.handle('charge', () => ({ without: 'a charge' }));
      const answer = await app.post('charge', key);
      expect(answer.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });

      handleCharge(app);
      expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
    });
  },
  { providers: [Charges] },
);
