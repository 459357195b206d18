import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fingerprint, type FingerprintInput } from '../../lib/request/fingerprint.js';
import { requestText } from '../../lib/request/request-text.js';

const order: FingerprintInput = {
  method: 'POST',
  route: '/orders/:id',
  params: { id: '7' },
  url: '/orders/7?a=1',
  contentType: 'application/json',
  body: { item: 'rocket', amount: 1 },
};
const textOf = (changes: Partial<FingerprintInput> = {}) =>
  requestText({ ...order, ...changes }, '40');

/** What a parser of JSON creates, from few values, so that equal ones come up. */
const few = fc.constantFrom('', 'a', 'b', '1', '"', '\n', '\ud800', '😀');
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    few,
    fc.constantFrom(0, -0, 1, 1.5, 1e21, Infinity, true, false, null),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(few, tie('value'), { maxKeys: 2 }),
  ),
})).value;

function tryFingerprint(request: FingerprintInput): string {
  try {
    return fingerprint(request).toString('hex');
  } catch {
    return 'refused';
  }
}

describe('The text of a request', () => {
  it('is the same only where the fingerprint is the same', () => {
    let equal = 0;
    const part = fc.record({
      method: fc.constantFrom('POST', 'PUT'),
      route: fc.constantFrom('/orders', '/orders/:id'),
      params: fc.constantFrom({}, { id: '7' }),
      url: fc.constantFrom('/orders', '/orders?a=1'),
      contentType: fc.constantFrom('application/json', 'application/json; charset=utf-8'),
      body: fc.option(json, { nil: undefined }),
    });
    fc.assert(
      fc.property(part, part, (one, other) => {
        const same = { ...one, body: other.body };
        for (const [a, b] of [
          [one, other],
          [same, other],
          [one, structuredClone(one)],
        ] as const) {
          const text = requestText(a, '10');
          if (text === undefined || text !== requestText(b, '10')) continue;
          equal += 1;
          expect(tryFingerprint(a)).toBe(tryFingerprint(b));
        }
      }),
      { numRuns: 5_000 },
    );
    expect(equal).toBeGreaterThan(2_000);
  });

  it.each<[string, Partial<FingerprintInput>]>([
    ['the method', { method: 'PUT' }],
    ['the route', { route: '/orders' }],
    ['a param', { params: { id: '8' } }],
    ['the query', { url: '/orders/7?a=2' }],
    ['the media type', { contentType: 'application/json; charset=utf-8' }],
    ['the body', { body: { item: 'rocket', amount: 2 } }],
    ['the order of members', { body: { amount: 1, item: 'rocket' } }],
    ['a body that is a text', { body: '{"item":"rocket","amount":1}' }],
    ['no body', { body: undefined }],
  ])('depends on %s', (_, changes) => {
    expect(textOf(changes)).toEqual(expect.any(String));
    expect(textOf(changes)).not.toBe(textOf());
  });

  it.each<[string, Partial<FingerprintInput>]>([
    ['is not JSON', { contentType: 'application/x-www-form-urlencoded' }],
    ['is only similar to JSON', { contentType: 'application/json5' }],
    ['has no media type', { contentType: undefined }],
    ['was not parsed', { body: Buffer.from('{}') }],
    ['has a value that JSON cannot hold', { body: { amount: 1n } }],
    ['has a number that is too large', { body: JSON.parse('{"amount":1e999}') }],
    ['has null, which stands for such a number', { body: { amount: null } }],
    ['is longer than it was sent', { body: 'a'.repeat(1_000) }],
  ])('does not exist for a request that %s', (_, changes) => {
    expect(textOf(changes)).toBeUndefined();
  });

  it.each(['1025', 'unknown', undefined])('does not exist for a length of %s', (length) => {
    expect(requestText(order, length)).toBeUndefined();
  });
});
