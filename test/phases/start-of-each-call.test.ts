import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Reconciler,
  type DoubtfulEffect,
  type ForeignPhase,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { describePhases } from '../support/phase-app.js';
import { later } from '../../lib/postgres/times.js';

const TEN_MINUTES = 600_000;

/** What the reconciler was asked, and its rule: what is not found and old enough was never made. */
const asked: number[] = [];

@Injectable()
class Charges {
  @Reconciler('charged')
  find({ startedAt }: DoubtfulEffect): Reconciliation {
    asked.push(Date.now() - startedAt.getTime());
    return { outcome: asked.at(-1)! > TEN_MINUTES ? 'not_executed' : 'unknown' };
  }
}

describe('The recorded start of a foreign call', () => {
  describePhases(
    'with reconcilers',
    (app) => {
      let key: string;
      let calls: string[];
      beforeEach(() => {
        key = randomUUID();
        calls = [];
        asked.length = 0;
      });

      function handle(inDoubt: ForeignPhase<unknown>['inDoubt'], error = new Error('time-out')) {
        app.handle('charge', (phases) =>
          phases.foreign('charged', {
            ...(inDoubt !== undefined && { inDoubt }),
            notExecuted: (thrown) => (thrown as Error).message === 'refused',
            call: async ({ idempotencyKey }) => {
              calls.push(idempotencyKey);
              throw error;
            },
          }),
        );
      }

      /** The recorded start moves into the past, with everything else. */
      const anHourLater = () =>
        app.database.query(
          `UPDATE idempotency_phases SET started_at = ${later('started_at', "interval '-1 hour'")}
           WHERE key_id = (SELECT id FROM idempotency_keys WHERE key = $1)`,
          [key],
        );
      const age = async () => {
        const [phase] = await app.phases(key);
        return Date.now() - phase!.started_at.getTime();
      };

      it('is the start of the last call, so that a reconciler does not confuse it with the first', async () => {
        handle('reconcile');
        await app.crash('charged:after_call', 'charge', key);
        await anHourLater();
        expect((await app.post('charge', key)).json()).toMatchObject({ code: 'outcome_unknown' });
        expect(calls).toHaveLength(2);
        expect(asked).toHaveLength(2);
        expect(asked[0]).toBeGreaterThan(TEN_MINUTES); // the call of the first attempt
        expect(asked[1]).toBeLessThan(TEN_MINUTES); // the one that was just made

        await runJob(app, 'reconciler');
        expect(asked[2]).toBeLessThan(TEN_MINUTES);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
        expect(calls).toHaveLength(2);
      });

      it('is renewed by a repeat under the same effect key', async () => {
        handle('repeat');
        await app.post('charge', key);
        await anHourLater();
        expect(await age()).toBeGreaterThan(TEN_MINUTES);
        await app.post('charge', key);
        expect(await age()).toBeLessThan(TEN_MINUTES);
        expect(new Set(calls).size).toBe(1);
      });

      it('is renewed after a withdrawn call, and after an operator said that none was made', async () => {
        handle('stop', new Error('refused'));
        await app.post('charge', key);
        await anHourLater();
        handle('stop');
        await app.post('charge', key);
        expect(await age()).toBeLessThan(TEN_MINUTES);

        await anHourLater();
        const decided = await operatorOf(app).resolve(
          calls[0]!,
          { outcome: 'not_executed' },
          'support',
        );
        expect(decided).toMatchObject({ changed: true });
        await app.post('charge', key);
        expect(calls).toHaveLength(3);
        expect(await age()).toBeLessThan(TEN_MINUTES);
      });

      it('is withdrawn if a reconciler resolved the first call and the second was refused', async () => {
        handle('reconcile');
        await app.crash('charged:after_call', 'charge', key);
        await anHourLater();
        handle('reconcile', new Error('refused'));
        expect((await app.post('charge', key)).status).toBe(500);
        expect(await app.phases(key)).toMatchObject([{ state: 'withdrawn' }]);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
      });

      it('does not extend the time for which the other system remembers the effect key', async () => {
        app.handle('charge', (phases) =>
          phases.foreign('charged', {
            inDoubt: 'repeat',
            keyValidFor: '24h',
            call: () => Promise.reject(new Error('time-out')),
          }),
        );
        await app.post('charge', key);
        const [first] = await app.phases(key);
        await app.post('charge', key);
        const [second] = await app.phases(key);
        expect(second!.started_at.getTime()).toBeGreaterThan(first!.started_at.getTime());
        expect(second!.key_valid_until).toEqual(first!.key_valid_until);
      });
    },
    { providers: [Charges] },
  );
});
