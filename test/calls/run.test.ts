import { ConflictException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  AtomicPhase,
  Idempotency,
  IdempotencyRefusedError,
  PhaseUsageError,
  type IdempotentCall,
} from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { crashIn } from '../support/crash.js';
import { lapse } from '../support/idempotent-app.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';

// No request is part of it, so one adapter is as good as the other.
forEachPlatform(
  'Idempotency.run()',
  (platform) => {
    let app: PhaseApp;
    let idempotency: Idempotency;
    let phases: AtomicPhase;
    beforeAll(async () => {
      app = await startPhaseApp(platform);
      idempotency = app.app.get(Idempotency);
      phases = app.app.get(AtomicPhase);
    });
    beforeEach(() => app.database.query('TRUNCATE notes'));
    afterAll(() => app.close());

    const callOf = (key: string, more: Partial<IdempotentCall> = {}): IdempotentCall => ({
      name: 'invoices.send',
      scope: 'acme',
      key,
      ...more,
    });
    const refusedAs = (code: string, more = {}) =>
      expect.objectContaining({ name: 'IdempotencyRefusedError', code, ...more });

    it('runs the work once, and gives its value to each further call', async () => {
      let runs = 0;
      const work = () => ({ run: ++runs, at: new Date(0), left: undefined });
      const first = await idempotency.run(callOf('once'), work);
      expect(first).toEqual({ run: 1, at: '1970-01-01T00:00:00.000Z' });
      expect(await idempotency.run(callOf('once'), work)).toEqual(first);
      expect(await idempotency.run(callOf('another'), work)).toMatchObject({ run: 2 });
      expect(await idempotency.run(callOf('nothing'), () => undefined)).toBeUndefined();
      expect(await idempotency.run(callOf('nothing'), () => 1)).toBeUndefined();
    });

    it('keeps kinds of work, scopes and HTTP requests apart', async () => {
      app.handle('order', () => 'of the request');
      expect((await app.post('order', 'apart')).status).toBe(201);
      const runs = [
        callOf('apart', { scope: 'tests' }),
        callOf('apart', { scope: 'tests', name: 'invoices.remind' }),
        callOf('apart', { scope: 'other' }),
        callOf('apart', { scope: 7 }),
      ];
      for (const [index, call] of runs.entries()) {
        expect(await idempotency.run(call, () => index)).toBe(index);
      }
      expect(await idempotency.run(callOf('apart', { scope: 7n }), () => 'again')).toBe(3);
    });

    it('refuses another piece of work under the same key', async () => {
      await idempotency.run(callOf('reused', { fingerprint: { amount: 1 } }), () => 'done');
      const other = callOf('reused', { fingerprint: { amount: 2 } });
      await expect(idempotency.run(other, () => 'other')).rejects.toEqual(
        refusedAs('key_reused', { retryable: false }),
      );
    });

    it('throws a definite HttpException again, and runs again after any other error', async () => {
      let runs = 0;
      const refuse = () => {
        runs += 1;
        throw new ConflictException({ reason: 'paid already' });
      };
      for (let call = 1; call <= 2; call++) {
        await expect(idempotency.run(callOf('rejected'), refuse)).rejects.toMatchObject({
          status: 409,
          response: { reason: 'paid already' },
        });
      }
      expect(runs).toBe(1);

      const fail = () => Promise.reject(new Error('no connection'));
      await expect(idempotency.run(callOf('failed'), fail)).rejects.toThrow('no connection');
      expect(await idempotency.run(callOf('failed'), () => 'second run')).toBe('second run');
    });

    it('keeps an error that isFinal calls final', async () => {
      class CardDeclined extends Error {
        override readonly name = 'CardDeclined';
      }
      const call = callOf('declined', { isFinal: ({ error }) => error instanceof CardDeclined });
      const decline = () => Promise.reject(new CardDeclined('insufficient funds'));
      await expect(idempotency.run(call, decline)).rejects.toBeInstanceOf(CardDeclined);
      await expect(idempotency.run(call, () => 'paid')).rejects.toMatchObject({
        name: 'CardDeclined',
        message: 'insufficient funds',
      });
    });

    it('goes on at the last recovery point after a crash', async () => {
      const call = callOf('crashed', { phased: true });
      const calls: string[] = [];
      const work = async () => {
        const invoice = await phases.local('invoice_made', async (tx) => {
          await note(tx, 'invoice');
          return { id: 1 };
        });
        await phases.foreign('mail_sent', {
          inDoubt: 'repeat',
          call: async ({ idempotencyKey }) => void calls.push(idempotencyKey),
        });
        return invoice;
      };
      await crashIn('mail_sent:after_call', () => idempotency.run(call, work));
      await lapse(app.database, 'crashed');
      expect(await idempotency.run(call, work)).toEqual({ id: 1 });
      expect(await app.notes()).toEqual(['invoice']);
      expect(calls).toHaveLength(2);
      expect(new Set(calls).size).toBe(1);
    });

    it('says unknown after a crash of work that is not in phases', async () => {
      const work = async () => 'done';
      await crashIn('recording:before', () => idempotency.run(callOf('unknown'), work));
      await lapse(app.database, 'unknown');
      await expect(idempotency.run(callOf('unknown'), work)).rejects.toEqual(
        refusedAs('outcome_unknown', { retryable: true, retryAfter: expect.any(Number) }),
      );
    });

    it('refuses a second call while the first one runs, or has it wait', async () => {
      const gate = barrier();
      const first = idempotency.run(callOf('running'), async () => {
        await gate.pass();
        return 'first';
      });
      await gate.arrived();
      await expect(idempotency.run(callOf('running'), () => 'second')).rejects.toEqual(
        refusedAs('in_progress', { retryable: true }),
      );
      const waiting = idempotency.run(callOf('running', { onInProgress: 'wait' }), () => 'second');
      gate.open();
      expect(await Promise.all([first, waiting])).toEqual(['first', 'first']);
    });

    it('does not run again what has ended with a value that cannot be kept', async () => {
      let runs = 0;
      const work = () => ({ run: ++runs, list: new Map() });
      await expect(idempotency.run(callOf('unkept'), work)).rejects.toThrow(PhaseUsageError);
      await expect(idempotency.run(callOf('unkept'), work)).rejects.toEqual(
        refusedAs('response_unavailable'),
      );
      const large = callOf('large', { maxResponseBytes: 10 });
      expect(await idempotency.run(large, () => 'x'.repeat(11))).toHaveLength(11);
      await expect(idempotency.run(large, work)).rejects.toEqual(refusedAs('response_unavailable'));
      expect(runs).toBe(1);
    });

    it('returns what an operator has completed it with', async () => {
      const { IdempotencyOperator } = await import('nestjs-atomic-idempotency');
      const operator = app.app.get(IdempotencyOperator);
      await crashIn('recording:before', () => idempotency.run(callOf('by hand'), () => 'lost'));
      await lapse(app.database, 'by hand');
      await expect(idempotency.run(callOf('by hand'), () => 'again')).rejects.toBeInstanceOf(
        IdempotencyRefusedError,
      );
      const [row] = await app.database.query<{ id: string }>(
        `SELECT id FROM idempotency_keys WHERE key = 'by hand'`,
      );
      await operator.resolveKey(
        row!.id,
        { outcome: 'completed', answer: { status: 200, body: { sent: true } } },
        { who: 'ada' },
      );
      expect(await idempotency.run(callOf('by hand'), () => 'again')).toEqual({ sent: true });
    });

    it.each<[string, Partial<IdempotentCall>, RegExp]>([
      ['an empty key', { key: '' }, /The key of an idempotent call has to be a string of 1 to 255/],
      ['a long key', { key: 'k'.repeat(256) }, /this one has 256/],
      ['an empty name', { name: '' }, /The name of an idempotent call/],
      ['no scope', { scope: undefined as never }, /The scope of invoices.send is undefined/],
      ['no JSON to compare', { fingerprint: { size: NaN } }, /cannot be compared/],
      ['an unknown option', { retain: '1h' } as never, /no option retain/],
      ['an option of requests', { required: true } as never, /no option required/],
    ])('refuses %s, and names the cure', async (_what, more, message) => {
      let ran = false;
      const call = callOf('misuse', more);
      await expect(idempotency.run(call, () => (ran = true))).rejects.toThrow(message);
      expect(ran).toBe(false);
    });
  },
  ['fastify'],
);
