import { randomUUID } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import { beforeEach, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { auditOf } from '../support/operator.js';
import { describePhases } from '../support/phase-app.js';
import { passTime } from '../support/time.js';
import { Charges, handleCharge } from './charges.js';

describePhases(
  'The reconciler of an unknown key',
  (app) => {
    let charges: Charges;
    let key: string;
    beforeEach(async () => {
      charges = app.app.get(Charges);
      key = randomUUID();
      await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
    });

    /** A charge that may have happened, of which nobody knows. */
    async function leaveInDoubt(): Promise<string[]> {
      const calls = handleCharge(app);
      expect((await app.post('charge', key)).json()).toMatchObject({ code: 'outcome_unknown' });
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
      return calls;
    }

    it('gets the effect key, the request and the time of the call', async () => {
      const [effectKey] = await leaveInDoubt();
      charges.says = () => ({ outcome: 'unknown' });
      expect(await runJob(app, 'reconciler')).toBe(1);
      const [phase] = await app.phases(key);
      expect(charges.asked.at(-1)).toEqual({
        recoveryPoint: 'charge_created',
        idempotencyKey: effectKey,
        request: { amount: 100 },
        startedAt: phase!.started_at,
      });
    });

    it('says executed: a retry continues with the result and records it, without a second call', async () => {
      const calls = await leaveInDoubt();
      charges.says = async () => ({ outcome: 'executed', result: { id: 'ch_1' } });
      await runJob(app, 'reconciler');
      expect(await keyRow(app.database, key)).toMatchObject({
        status: 'failed_retryable',
        recovery_point: 'started',
        reconcile_after: null,
      });
      expect(await app.phases(key)).toMatchObject([
        { state: 'reconciled', result: { id: 'ch_1' }, finished_at: expect.any(Date) },
      ]);
      expect(await app.notes()).toEqual([]);

      const retry = await app.post('charge', key);
      expect(retry.status).toBe(201);
      expect(retry.json()).toEqual({ id: 'ch_1' });
      expect(calls).toHaveLength(1);
      expect(await app.notes()).toEqual(['recorded {"id":"ch_1"}', 'receipt']);
      expect(await app.phases(key)).toMatchObject([
        { state: 'finished', attempt: 2 },
        { name: 'receipt_staged' },
      ]);
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'completed' });
    });

    it('says executed without a result: record gets undefined, as from the call', async () => {
      await leaveInDoubt();
      charges.says = () => ({ outcome: 'executed' });
      await runJob(app, 'reconciler');
      expect((await app.post('charge', key)).status).toBe(201);
      expect(await app.notes()).toEqual(['recorded undefined', 'receipt']);
    });

    it('says rejected: a retry gets the exception', async () => {
      await leaveInDoubt();
      const error = new HttpException({ reason: 'no funds' }, 402);
      charges.says = () => ({ outcome: 'rejected', error });
      await runJob(app, 'reconciler');
      expect(await app.phases(key)).toMatchObject([{ state: 'rejected' }]);

      const retry = await app.post('charge', key);
      expect(retry.status).toBe(402);
      expect(retry.json()).toEqual({ reason: 'no funds' });
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'completed' });
      expect(await app.notes()).toEqual([]);
    });

    it('says not executed: a retry makes the call, under the same effect key', async () => {
      const calls = await leaveInDoubt();
      charges.says = () => ({ outcome: 'not_executed' });
      await runJob(app, 'reconciler');
      expect(await app.phases(key)).toMatchObject([{ state: 'withdrawn' }]);
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });

      expect((await app.post('charge', key)).json()).toEqual({ id: 'call 2' });
      expect(calls).toEqual([calls[0], calls[0]]);
    });

    it('says unknown: it is asked again only after a pause, and a longer one each time', async () => {
      await leaveInDoubt();
      const before = charges.asked.length;
      charges.says = () => ({ outcome: 'unknown' });
      const pauses: number[] = [];
      for (const attempt of [1, 2, 3, 4]) {
        expect(await runJob(app, 'reconciler')).toBe(1);
        expect(await runJob(app, 'reconciler')).toBe(0);
        const [row] = await app.database.query(
          `SELECT status, reconcile_attempts,
                  extract(epoch FROM reconcile_after - now())::float8 AS pause
           FROM idempotency_keys WHERE key = $1`,
          [key],
        );
        expect(row).toMatchObject({ status: 'unknown', reconcile_attempts: attempt });
        pauses.push(row!.pause);
        await passTime(app.database, key, '3 hours');
      }
      expect(charges.asked).toHaveLength(before + 4);
      // Half a minute, doubled each time, give or take half of it.
      pauses.forEach((pause, at) => expect(pause).toBeLessThan(1.5 * 30 * 2 ** at));
      expect(pauses[3]).toBeGreaterThan(60);
      const retry = await app.post('charge', key);
      expect(retry.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
    });

    // Its record was committed, and the reply was lost for longer than the attempt could try again.
    it('is not asked where the call is on record after all, and a retry goes on from there', async () => {
      const calls = await leaveInDoubt();
      charges.asked.length = 0;
      await app.database.query(
        `UPDATE idempotency_phases SET state = 'finished', result = '{"id":"ch_2"}', finished_at = now()`,
      );
      await app.database.query(`UPDATE idempotency_keys SET recovery_point = 'charge_created'`);
      expect(await runJob(app, 'reconciler')).toBe(1);
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
      expect(charges.asked).toEqual([]);
      expect(await auditOf(app.database, key)).toMatchObject([
        { action: 'resolve_key', who: 'reconciler', why: expect.stringContaining('on record') },
      ]);

      expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_2' });
      expect(calls).toHaveLength(1);
      expect(await app.notes()).toEqual(['receipt']);
    });

    it('without any call on record leaves the key to people', async () => {
      await leaveInDoubt();
      await app.database.query('DELETE FROM idempotency_phases');
      await runJob(app, 'reconciler');
      const [row] = await app.database.query(
        `SELECT status, reconcile_after = 'infinity' AS "leftToPeople" FROM idempotency_keys`,
      );
      expect(row).toEqual({ status: 'unknown', leftToPeople: true });
    });

    it('has its resolution in the audit', async () => {
      const [effectKey] = await leaveInDoubt();
      charges.says = () => ({ outcome: 'not_executed' });
      await runJob(app, 'reconciler');
      const { id } = await keyRow(app.database, key);
      expect(await auditOf(app.database, key)).toMatchObject([
        {
          key_id: id,
          effect_key: effectKey,
          action: 'resolve',
          who: 'reconciler',
          before: { status: 'unknown', phase: { name: 'charge_created', state: 'intended' } },
          after: {
            status: 'failed_retryable',
            phase: { name: 'charge_created', state: 'withdrawn' },
          },
        },
      ]);
    });
  },
  { providers: [Charges] },
);
