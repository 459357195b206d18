import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { PhaseUsageError } from 'nestjs-atomic-idempotency';
import { describePhases, note } from '../support/phase-app.js';

const LIMIT = 1024 * 1024;

class Money {
  constructor(private readonly cents: number) {}
  toJSON(): object {
    return { cents: this.cents, currency: 'eur' };
  }
}

const kept: [what: string, result: unknown, comesBackAs: unknown][] = [
  ['undefined', undefined, undefined],
  ['null', null, null],
  ['zero, false and an empty text', [0, false, ''], [0, false, '']],
  ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['Dates inside', { at: [new Date(1)] }, { at: ['1970-01-01T00:00:00.001Z'] }],
  [
    'an object with its own JSON',
    { price: new Money(5) },
    { price: { cents: 5, currency: 'eur' } },
  ],
  ['bytes', Buffer.from('hi'), { type: 'Buffer', data: [104, 105] }],
  ['undefined members', { a: undefined, b: [undefined, 1] }, { b: [null, 1] }],
  ['methods', { id: 1, run: () => 2 }, { id: 1 }],
  ['nesting', { a: { b: { c: [{ d: [[]] }] } } }, { a: { b: { c: [{ d: [[]] }] } } }],
  ['unicode', 'Grüße 漢字 🚀 \u2028', 'Grüße 漢字 🚀 \u2028'],
  ['a NUL character', { text: 'a\u0000b' }, { text: 'a\u0000b' }],
  ['half a surrogate pair', '\ud83d', '\ud83d'],
  ['numbers', [1e21, 0.1 + 0.2, -5e-324], [1e21, 0.1 + 0.2, -5e-324]],
  ['a result at the limit', 'x'.repeat(LIMIT - 2), 'x'.repeat(LIMIT - 2)],
];

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

const refused: [what: string, result: unknown, message: RegExp][] = [
  ['a Map', new Map(), /it is a Map/],
  ['a Set inside', { tags: new Set() }, /member "tags" is a Set/],
  ['NaN', NaN, /it is NaN/],
  ['Infinity inside', { rate: [Infinity] }, /member "0" is Infinity/],
  ['a BigInt', { amount: 10n }, /BigInt/],
  ['a cycle', cyclic, /circular/],
  ['a function', () => 1, /is a function/],
  ['a symbol', Symbol('s'), /symbol/],
  ['a forgotten await', { ride: Promise.resolve(1) }, /member "ride" is a Promise/],
  [
    'a result past the limit',
    'x'.repeat(LIMIT - 1),
    /1048577 bytes of JSON; at most 1048576 are kept\. Store the data in a table of your own and return its id/,
  ],
  // Counted in bytes, as they are stored.
  ['a result of many bytes in few characters', '漢'.repeat(LIMIT / 3), /1048577 bytes/],
];

describePhases('Results of phases', (app) => {
  it.each(kept)('have one shape at once and on a resume: %s', async (_, result, back) => {
    const seen: unknown[] = [];
    const resumed = randomUUID();
    app.handle('result', async (phases) => {
      seen.push(await phases.local('made', async () => result));
    });

    await app.post('result', randomUUID());
    await app.crash('made:after_commit', 'result', resumed);
    await app.post('result', resumed);

    expect(seen).toStrictEqual([back, back]);
  });

  it('keep the order of members', async () => {
    app.handle('result', (phases) => phases.local('made', async () => ({ b: 1, a: 2, 1: 3 })));
    await app.crash('made:after_commit', 'result', 'order');
    expect((await app.post('result', 'order')).text).toBe('{"1":3,"b":1,"a":2}');
  });

  describe.each(['local', 'foreign'] as const)('of a %s phase', (kind) => {
    it.each(refused)('are refused: %s', async (_, result, message) => {
      const key = randomUUID();
      let error: unknown;
      app.handle('result', async (phases) => {
        const made = () => Promise.resolve(result);
        const work =
          kind === 'local'
            ? phases.local('made', (tx) => note(tx, 'made').then(made))
            : phases.foreign('made', { call: made });
        await work.catch((thrown) => (error = thrown));
      });

      await app.post('result', key);

      expect(error).toBeInstanceOf(PhaseUsageError);
      expect((error as Error).message).toMatch(message);
      expect((error as Error).message).toContain('The result of phase "made"');
      expect(await app.notes()).toEqual([]);
      expect((await app.phases(key)).map(({ state }) => state)).toEqual(
        kind === 'local' ? [] : ['intended'],
      );
    });
  });
});
