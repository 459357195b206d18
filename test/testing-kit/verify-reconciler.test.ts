import { HttpException, Injectable } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Reconciler, type DoubtfulEffect, type Reconciliation } from 'nestjs-atomic-idempotency';
import {
  verifyReconciler,
  VerificationError,
  type ReconcilerOptions,
  type ReconcilerProblemCode,
} from 'nestjs-atomic-idempotency/testing';
import { startOutboxApp, type OutboxApp } from '../outbox/outbox-app.js';

interface Transfer {
  id: string;
  amount: number;
  reference: string;
}

/** The other system. It can be searched by the reference, and it can be down. */
class Bank {
  readonly transfers: Transfer[] = [];
  down = false;

  transfer(reference: string, amount: number): Transfer {
    const transfer = { id: `tr_${this.transfers.length + 1}`, amount, reference };
    this.transfers.push(transfer);
    return transfer;
  }

  async find(wanted: Partial<Transfer>): Promise<Transfer | undefined> {
    if (this.down) throw new Error('ECONNREFUSED');
    return this.transfers.find((transfer) =>
      Object.entries(wanted).every(([name, value]) => transfer[name as keyof Transfer] === value),
    );
  }
}

let bank: Bank;
let app: OutboxApp;
let memory: Map<string, Reconciliation>;

type Method = (effect: DoubtfulEffect) => unknown;

const HOUR = 3_600_000;
const isSettled = ({ startedAt }: DoubtfulEffect) => Date.now() - startedAt.getTime() > HOUR;
const executed = (result: unknown): Reconciliation => ({ outcome: 'executed', result });
const found = async ({ idempotencyKey }: DoubtfulEffect) =>
  bank.find({ reference: idempotencyKey });
const amountOf = ({ request }: DoubtfulEffect) => (request as { amount: number }).amount;

/** As it should be. */
const honest: Method = async (effect) => {
  const transfer = await found(effect);
  if (transfer) return executed(transfer);
  return { outcome: isSettled(effect) ? 'not_executed' : 'unknown' };
};

/** Each makes one mistake, which the message names. */
const wrong: Record<string, [method: Method, codes: ReconcilerProblemCode[], message: string]> = {
  'makes the transfer where it finds none': [
    async (effect) =>
      executed((await found(effect)) ?? bank.transfer(effect.idempotencyKey, amountOf(effect))),
    ['performs_effects'],
    'Asking changed something: observe().transfers changed by 1.',
  ],
  'writes what it found into a table': [
    async (effect) => {
      await app.dataSource.query('INSERT INTO looks DEFAULT VALUES');
      return honest(effect);
    },
    ['performs_effects'],
    'Asking changed something: a row of looks was inserted.',
  ],
  'empties a table': [
    async (effect) => {
      await app.dataSource.query('TRUNCATE looks');
      return honest(effect);
    },
    ['performs_effects'],
    'Asking changed something: looks was truncated.',
  ],
  'takes not found for never': [
    async (effect) => {
      const transfer = await found(effect);
      return transfer ? executed(transfer) : { outcome: 'not_executed' };
    },
    ['guesses'],
    'It answered not_executed about a call that the other system may still be busy with.',
  ],
  'takes an error for not found': [
    async (effect) => {
      const transfer = await found(effect).catch(() => undefined);
      if (transfer) return executed(transfer);
      return { outcome: isSettled(effect) ? 'not_executed' : 'unknown' };
    },
    ['guesses'],
    'It answered not_executed while the other system failed.',
  ],
  'believes in the call': [
    async (effect) => executed((await found(effect)) ?? { id: 'tr_?' }),
    ['guesses'],
    'It answered executed about a call that was never executed.',
  ],
  'searches by the amount': [
    async (effect) => {
      const transfer = await bank.find({ amount: amountOf(effect) });
      return transfer ? executed(transfer) : { outcome: 'unknown' };
    },
    ['wrong_call'],
    'It answered executed about a call that was never executed, after another one with the same request was.',
  ],
  'searches by another reference': [
    async (effect) => {
      const transfer = await bank.find({ reference: `order ${effect.idempotencyKey}` });
      return transfer ? executed(transfer) : { outcome: 'unknown' };
    },
    ['not_found'],
    'It answered unknown about a call that was executed.',
  ],
  'answers with another result': [
    async (effect) => {
      const transfer = await found(effect);
      return transfer ? executed(transfer.id) : { outcome: 'unknown' };
    },
    ['other_result'],
    'The result "tr_1" is not what the call returned, {"id":"tr_1"',
  ],
  'remembers what it did not find': [
    async (effect) => {
      const known = memory.get(effect.idempotencyKey);
      if (known) return known;
      const answer = (await honest(effect)) as Reconciliation;
      memory.set(effect.idempotencyKey, answer);
      return answer;
    },
    ['not_found'],
    'It answered unknown about a call that was executed.',
  ],
  'answers a transfer': [
    async (effect) => (await found(effect)) ?? { outcome: 'unknown' },
    ['invalid_answer'],
    'It answered an object without an outcome.',
  ],
  'throws where it should find one': [
    async () => {
      throw new Error('no such method');
    },
    ['no_answer'],
    'It gave no answer: Error: no such method',
  ],
};

const right: Record<string, [method: Method, options?: Partial<ReconcilerOptions>]> = {
  'looks up, and gives it time': [honest],
  'never says that nothing happened': [
    async (effect) => {
      const transfer = await found(effect);
      return transfer ? executed(transfer) : { outcome: 'unknown' };
    },
  ],
  'answers unknown while the bank is down': [
    async (effect) => {
      try {
        return await honest(effect);
      } catch {
        return { outcome: 'unknown' };
      }
    },
  ],
  'throws where it finds none, as many clients do': [
    async (effect) => {
      const transfer = await found(effect);
      if (!transfer) throw new Error('404');
      return executed(transfer);
    },
  ],
  'asks a bank that shows a transfer at once': [
    async (effect) => {
      const transfer = await found(effect);
      return transfer ? executed(transfer) : { outcome: 'not_executed' };
    },
    { settledAfter: 0 },
  ],
  'leaves a line in a log': [
    async (effect) => {
      await app.dataSource.query('INSERT INTO looks DEFAULT VALUES');
      return honest(effect);
    },
    { ignore: ['looks'] },
  ],
};

describe('verifyReconciler', () => {
  let method: Method;

  @Injectable()
  class Transfers {
    @Reconciler('transfer_made')
    lookUp(effect: DoubtfulEffect): Promise<Reconciliation> {
      return method(effect) as Promise<Reconciliation>;
    }
  }

  beforeAll(async () => {
    app = await startOutboxApp({ providers: [Transfers] });
    await app.dataSource.query('CREATE TABLE looks (id serial PRIMARY KEY)');
  });
  beforeEach(() => {
    bank = new Bank();
    memory = new Map();
  });
  afterAll(() => app.close());

  const verify = (asked: Method, options: Partial<ReconcilerOptions> = {}) => {
    method = asked;
    return verifyReconciler(app.context, {
      recoveryPoint: 'transfer_made',
      request: (n: number) => ({ amount: n }),
      execute: ({ idempotencyKey, request }) =>
        bank.transfer(idempotencyKey, (request as { amount: number }).amount),
      breakProvider: () => {
        bank.down = true;
        return () => (bank.down = false);
      },
      observe: () => ({ transfers: bank.transfers.length }),
      ...options,
    });
  };

  it.each(Object.keys(wrong))('finds the mistake: %s', async (name) => {
    const [asked, codes, message] = wrong[name]!;
    const error = await verify(asked).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VerificationError);
    const { problems, message: text } = error as VerificationError;
    expect(problems.map(({ code }) => code)).toEqual(codes);
    expect(text).toContain(`@Reconciler('transfer_made') is not honest`);
    expect(text).toContain(message);
    expect(text).toContain('docs/guides/testing.md#is-my-reconciler-honest');
    const left = await app.dataSource.query('SELECT FROM idempotency_keys');
    expect(left).toEqual([]);
  });

  it.each(Object.keys(right))('lets pass: %s', async (name) => {
    const [asked, options] = right[name]!;
    const { problems, skipped, table } = await verify(asked, options);
    expect([problems, skipped]).toEqual([[], []]);
    expect(table).toMatch(/killed between the answer and its record +executed/);
    expect(table).toMatch(/the same call, twice at the same time +executed, executed/);
  });

  it('says what it did not verify', async () => {
    const { skipped, table } = await verify(honest, {
      observe: undefined as never,
      breakProvider: undefined as never,
    });
    expect(skipped).toEqual([
      'effects of the reconciler in the other system: give observe',
      'answers while the other system fails: give breakProvider',
    ]);
    expect(table).toContain('not verified: answers while the other system fails');
  });

  it('notices a result that cannot be recorded', async () => {
    const error = await verify(
      async (effect) => {
        const transfer = await found(effect);
        return transfer
          ? executed({ ...transfer, text: 'x'.repeat(2 ** 20) })
          : { outcome: 'unknown' };
      },
      { execute: ({ idempotencyKey }) => void bank.transfer(idempotencyKey, 1) },
    ).catch((thrown: unknown) => thrown);
    expect((error as VerificationError).problems).toMatchObject([
      { code: 'not_recorded', at: ['killed between the answer and its record'] },
    ]);
  });

  it('does not wait for a reconciler that hangs, and sees answers that change', async () => {
    const hangs = await verify(() => new Promise(() => undefined), { timeout: 20 }).catch(
      (thrown: unknown) => thrown,
    );
    expect((hangs as VerificationError).problems).toMatchObject([
      { code: 'no_answer', message: 'It gave no answer: no answer within 20 ms' },
    ]);
    let asked = 0;
    const changes = await verify(async (effect) => {
      const transfer = await found(effect);
      return transfer ? executed({ ...transfer, asked: (asked += 1) }) : { outcome: 'unknown' };
    }).catch((thrown: unknown) => thrown);
    const codes = (changes as VerificationError).problems.map(({ code }) => code);
    expect(codes).toEqual(['other_result', 'unstable']);
  });

  it('says what is wrong with the test', async () => {
    await expect(verify(honest, { recoveryPoint: 'charged' })).rejects.toThrow(
      "no @Reconciler('charged'). It has: transfer_made",
    );
    const blind = await verify(honest, { observe: () => ({ transfers: 0 }) }).catch(
      (thrown: unknown) => thrown,
    );
    expect((blind as VerificationError).problems).toMatchObject([{ code: 'not_observed' }]);
    const declined = () => {
      throw new HttpException('declined', 402);
    };
    await expect(verify(honest, { execute: declined })).rejects.toThrow('declined');
    const busy = await startOutboxApp({
      database: app.database,
      providers: [Transfers],
      idempotency: { maintenance: { reconciler: { interval: '1h', maxInterval: '1h' } } },
    });
    await expect(
      verifyReconciler(busy.context, { recoveryPoint: 'transfer_made', execute: () => 1 }),
    ).rejects.toThrow('maintenance: { reconciler: false }');
    await busy.close();
  });
});
