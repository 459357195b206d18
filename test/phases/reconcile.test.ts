import { randomUUID } from 'node:crypto';
import { HttpException, Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Reconciler, type DoubtfulEffect, type Reconciliation } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

let lookUp: (effect: DoubtfulEffect) => unknown;

@Injectable()
class Charges {
  readonly asked: DoubtfulEffect[] = [];

  @Reconciler('charge_created')
  lookUp(effect: DoubtfulEffect): Promise<Reconciliation> {
    this.asked.push(effect);
    return lookUp(effect) as Promise<Reconciliation>;
  }
}

/** A charge whose first answer is lost; the second call succeeds. */
function handleCharge(app: PhaseApp): { keys: string[] } {
  const keys: string[] = [];
  app.handle('charge', async (phases) => {
    const charge = await phases.foreign('charge_created', {
      request: { amount: 100 },
      call: async ({ idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length === 1) throw new Error('timeout');
        return { id: `call ${keys.length}` };
      },
      record: async (tx, result) => {
        await note(tx, `recorded ${JSON.stringify(result)}`);
        return result;
      },
      inDoubt: 'reconcile',
    });
    await phases.local('receipt_staged', (tx) => note(tx, 'receipt'));
    return charge;
  });
  return { keys };
}

const endings: [how: string, meet: (app: PhaseApp, key: string) => Promise<void>][] = [
  // The attempt itself asks, while its client waits.
  ['an error of the call', async () => undefined],
  // The next attempt asks.
  ['a crash', (app, key) => app.crash('charge_created:after_intent', 'charge', key)],
];

describePhases(
  'inDoubt: reconcile',
  (app) => {
    const asked = () => app.app.get(Charges).asked;

    describe.each(endings)('after %s', (how, meet) => {
      const crashed = how === 'a crash';

      it.each<[string, unknown]>([
        ['executed', { id: 'ch_1' }],
        // It exists at the provider, and its result says what it is worth.
        ['executed-but-declined', { id: 'ch_2', declined: 'no funds' }],
        ['executed-without-a-result', undefined],
      ])('%s: continues with the result, without a call', async (_, result) => {
        const key = randomUUID();
        lookUp = async () => ({ outcome: 'executed', result });
        const { keys } = handleCharge(app);
        await meet(app, key);

        const answer = await app.post('charge', key);

        expect(answer.status).toBe(201);
        expect(answer.text && answer.json()).toEqual(result ?? '');
        expect(keys).toHaveLength(crashed ? 0 : 1);
        expect(await app.notes()).toEqual([`recorded ${JSON.stringify(result)}`, 'receipt']);
        const [charge] = await app.phases(key);
        expect(charge).toMatchObject({ state: 'finished', result: result ?? null });
        expect(asked().at(-1)).toEqual({
          recoveryPoint: 'charge_created',
          idempotencyKey: charge!.effect_key,
          request: { amount: 100 },
          startedAt: charge!.started_at,
        });
      });

      it('rejected: the exception is the final answer', async () => {
        const key = randomUUID();
        lookUp = async () => ({
          outcome: 'rejected',
          error: new HttpException({ reason: 'no funds' }, 402),
        });
        handleCharge(app);
        await meet(app, key);

        const answer = await app.post('charge', key);

        expect(answer.status).toBe(402);
        expect(answer.json()).toEqual({ reason: 'no funds' });
        expect(await app.phases(key)).toMatchObject([{ state: 'rejected' }]);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'completed' });
      });

      it('not executed: the call is made under the same effect key', async () => {
        const key = randomUUID();
        lookUp = async () => ({ outcome: 'not_executed' });
        const { keys } = handleCharge(app);
        await meet(app, key);

        const first = await app.post('charge', key);
        expect(first.status).toBe(500);
        expect(await app.phases(key)).toMatchObject([{ state: 'withdrawn' }]);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });

        const retry = await app.post('charge', key);
        expect(retry.json()).toEqual({ id: 'call 2' });
        expect(keys).toEqual([keys[0], keys[0]]);
        expect(await app.phases(key)).toMatchObject([{ effect_key: keys[0] }, {}]);
        expect(await app.notes()).toEqual(['recorded {"id":"call 2"}', 'receipt']);
      });

      it.each<[string, () => unknown, RegExp]>([
        ['unknown', async () => ({ outcome: 'unknown' }), /Phase "charge_created".*is in doubt/],
        [
          'the reconciler throws',
          () => Promise.reject(new Error('provider is down')),
          /@Reconciler\('charge_created'\) threw.*provider is down/,
        ],
        [
          'the reconciler answers nothing',
          () => undefined,
          /@Reconciler\('charge_created'\) answered undefined.*Answer \{ outcome: 'executed', result \}/,
        ],
        [
          'the reconciler answers something else',
          async () => ({ outcome: 'maybe' }),
          /answered an object with another outcome/,
        ],
      ])('%s: the key is unknown, and nothing is repeated', async (_, answers, log) => {
        const key = randomUUID();
        lookUp = answers;
        const { keys } = handleCharge(app);
        await meet(app, key);

        for (const answer of [await app.post('charge', key), await app.post('charge', key)]) {
          expect(answer.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
        }
        expect(keys).toHaveLength(crashed ? 0 : 1);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
        expect(await app.phases(key)).toMatchObject([{ state: 'intended' }]);
        expect(await app.notes()).toEqual([]);
        expect(app.logs).toContainEqual(expect.stringMatching(log));
      });
    });

    it('gives the reconciler the time of the first call, not of the last one', async () => {
      const key = randomUUID();
      lookUp = async () => ({ outcome: 'executed', result: { id: 'ch_1' } });
      handleCharge(app);
      await app.crash('charge_created:after_intent', 'charge', key);
      await app.database.query(
        `UPDATE idempotency_phases SET started_at = '2001-02-03T04:05:06.789Z'
         WHERE key_id = (SELECT id FROM idempotency_keys WHERE key = $1)`,
        [key],
      );
      await app.post('charge', key);

      expect(asked().at(-1)!.startedAt).toEqual(new Date('2001-02-03T04:05:06.789Z'));
    });

    it('leaves the outcome unknown without a reconciler, and the log says what to do', async () => {
      app.handle('tip', (phases) =>
        phases.foreign('tip_created', {
          call: () => Promise.reject(new Error('timeout')),
          inDoubt: 'reconcile',
        }),
      );

      const answer = await app.post('tip', 'nobody');

      expect(answer.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
      expect(app.logs).toContain(
        `Phase "tip_created" says inDoubt: 'reconcile', but there is no @Reconciler('tip_created'), so its outcome stays unknown. Add one to a provider.`,
      );
    });
  },
  { providers: [Charges] },
);
