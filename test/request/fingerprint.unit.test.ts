import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  customFingerprint,
  fingerprint,
  type FingerprintInput,
} from '../../lib/request/fingerprint.js';
import { IdempotencyProblem } from '../../lib/answers/problems.js';

const order: FingerprintInput = {
  method: 'POST',
  route: '/orders/:id',
  params: { id: '7' },
  url: '/orders/7?a=1&b=2',
  contentType: 'application/json',
  body: { item: 'rocket', amount: 1 },
};
const hash = (changes: Partial<FingerprintInput> = {}) =>
  fingerprint({ ...order, ...changes }).toString('hex');

/** Strings of what an encoding could use as separators, lengths and kinds. */
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    ':',
    '1',
    '2',
    '"',
    ',',
    '{',
    '}',
    '/',
    'text:',
    'json:',
    'none',
    '\ud800',
    '\udc00',
    '\ufffd',
    '😀',
  ),
  maxLength: 5,
});
const json = fc.jsonValue({ maxDepth: 3 });

describe('A fingerprint', () => {
  it('is a SHA-256 digest', () => {
    expect(fingerprint(order)).toHaveLength(32);
  });

  it.each<[string, Partial<FingerprintInput>]>([
    ['the order of members', { body: { amount: 1, item: 'rocket' } }],
    ['the order of the query', { url: '/orders/7?b=2&a=1' }],
    ['the spelling of the query', { url: '/orders/7?&%61=1&b=%32&' }],
    ['the spelling of the path, which is in the params', { url: '/ORDERS/7/?a=1&b=2' }],
    ['the case of the media type', { contentType: 'Application/JSON' }],
    ['parameters of the media type', { contentType: 'application/json; charset=utf-8' }],
  ])('does not depend on %s', (_, changes) => {
    expect(hash(changes)).toBe(hash());
  });

  it.each<[string, Partial<FingerprintInput>]>([
    ['the method', { method: 'PUT' }],
    ['the route', { route: '/orders/:number' }],
    ['the params', { params: { id: '8' } }],
    ['a value of the query', { url: '/orders/7?a=1&b=3' }],
    ['a name in the query', { url: '/orders/7?a=1&c=2' }],
    ['a missing query', { url: '/orders/7' }],
    ['the media type', { contentType: 'application/merge-patch+json' }],
    ['a missing media type', { contentType: undefined }],
    ['the body', { body: { item: 'rocket', amount: 2 } }],
    ['the type of a value', { body: { item: 'rocket', amount: '1' } }],
    ['a further member', { body: { item: 'rocket', amount: 1, note: null } }],
    ['a missing body', { body: undefined }],
  ])('depends on %s', (_, changes) => {
    expect(hash(changes)).not.toBe(hash());
  });

  it('depends on the order of elements and of repeated names in the query', () => {
    expect(hash({ body: [1, 2] })).not.toBe(hash({ body: [2, 1] }));
    expect(hash({ url: '/?a=1&a=2' })).not.toBe(hash({ url: '/?a=2&a=1' }));
    expect(hash({ url: '/?a=1&b=0&a=2' })).toBe(hash({ url: '/?b=0&a=1&a=2' }));
  });

  it('differs for queries that are not UTF-8', () => {
    expect(hash({ url: '/?a=%FF' })).not.toBe(hash({ url: '/?a=%FE' }));
    expect(hash({ url: '/?a=%FF' })).not.toBe(hash({ url: '/?a=%EF%BF%BD' }));
  });

  it('differs for kinds of bodies that look alike', () => {
    const bodies = [
      undefined,
      null,
      '',
      'null',
      '""',
      {},
      [],
      'none',
      1,
      '1',
      Buffer.from('1'),
      true,
      'true',
      Buffer.alloc(0),
      '\ud800',
      '\udfff',
      '\ufffd',
    ];
    expect(new Set(bodies.map((body) => hash({ body }))).size).toBe(bodies.length);
    const custom = bodies.map((value) => customFingerprint(order, value).toString('hex'));
    expect(new Set([...custom, ...bodies.map((body) => hash({ body }))]).size).toBe(
      bodies.length * 2,
    );
  });

  it('is the same for two requests only if they are the same', () => {
    const inputs = fc.record({
      method: fc.constantFrom('POST', 'PUT'),
      route: text,
      params: fc.dictionary(fc.constantFrom('a', 'b', 'a:b'), fc.constantFrom('a', '1', ':')),
      url: fc.constant('/'),
      contentType: text,
      body: fc.oneof(
        text,
        json,
        fc.constant(undefined),
        text.map((t) => ({ [t]: t })),
      ),
    });
    // Routes and media types are ASCII in a request line and a header.
    const isAscii = ({ route, contentType }: { route: string; contentType: string }) =>
      /^[\x20-\x7e]*$/.test(route + contentType);
    fc.assert(
      fc.property(inputs.filter(isAscii), inputs.filter(isAscii), (one, other) => {
        let same: boolean;
        try {
          same = fingerprint(one).equals(fingerprint(other));
        } catch (error) {
          expect(error).toBeInstanceOf(IdempotencyProblem);
          return;
        }
        const parts = (input: typeof one) =>
          [
            input.method,
            input.route,
            input.params,
            input.contentType.split(';')[0]!.trim(),
            input.body,
          ] as const;
        expect(same).toBe(
          JSON.stringify(sorted(parts(one))) === JSON.stringify(sorted(parts(other))),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it('does not confuse adjacent parts', () => {
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        fc.pre(/^[\x20-\x7e]*$/.test(a + b + c + d) && (a !== c || b !== d));
        expect(hash({ method: a, route: b })).not.toBe(hash({ method: c, route: d }));
        expect(hash({ route: a, params: { b } })).not.toBe(hash({ route: c, params: { b: d } }));
      }),
      {
        numRuns: 1_000,
        examples: [
          ['a', 'bc', 'ab', 'c'],
          ['1:a', '', '1', ':a'],
        ],
      },
    );
  });

  it('is the same for any JSON in any order of its members', () => {
    fc.assert(
      fc.property(json, (body) => {
        try {
          expect(hash({ body: reversed(body) })).toBe(hash({ body }));
        } catch (error) {
          expect(error).toBeInstanceOf(IdempotencyProblem);
        }
      }),
    );
  });
});

/** The same value with the members of every object in order. */
function sorted(value: unknown): unknown {
  return rearranged(value, (names) => names.sort());
}

function reversed(value: unknown): unknown {
  return rearranged(value, (names) => names.reverse());
}

function rearranged(value: unknown, arrange: (names: string[]) => string[]): unknown {
  if (Array.isArray(value)) return value.map((element) => rearranged(element, arrange));
  // As JSON has it: what JSON.stringify drops in an array has to stay visible.
  if (value === undefined) return { undefined: true };
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  return Object.fromEntries(
    arrange(Object.keys(members)).map((name) => [name, rearranged(members[name], arrange)]),
  );
}
