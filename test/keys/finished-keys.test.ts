import { expect, it } from '@jest/globals';
import { ReplayCache } from '../../lib/keys/replay-cache.js';
import type { FoundKey } from '../../lib/keys/key-store.js';
import { RememberedKey } from '../../lib/keys/remembered-key.js';
import { fingerprint, type FingerprintInput } from '../../lib/request/fingerprint.js';
import { IdempotencyProblem } from '../../lib/answers/problems.js';

const LONG = 1_000_000;
const nameOf = (key: string) => ({ scope: 'ada', endpoint: '', key });

function finished(bytes = 10, expiresIn: number | null = null): FoundKey {
  const answer = { status: 201, headers: {}, body: Buffer.alloc(bytes) };
  return { status: 'completed', answer, expiresIn } as unknown as FoundKey;
}

it('remembers a key as it was read', () => {
  const keys = new ReplayCache(LONG, 100_000);
  const key = finished();
  keys.keep(nameOf('a'), key, performance.now());
  expect(keys.find(nameOf('a'))?.key).toBe(key);
  expect(keys.find(nameOf('b'))).toBeUndefined();
  expect(keys.find({ ...nameOf('a'), scope: 'grace' })).toBeUndefined();
  expect(keys.find({ ...nameOf('a'), endpoint: 'POST /a' })).toBeUndefined();
});

it('counts from when the statement was sent, not from when its reply came', () => {
  const keys = new ReplayCache(1_000, 100_000);
  keys.keep(nameOf('a'), finished(), performance.now() - 1_000);
  expect(keys.find(nameOf('a'))).toBeUndefined();
  expect(keys.size).toBe(0);
});

it('does not remember a key beyond its retention', () => {
  const keys = new ReplayCache(LONG, 100_000);
  const sent = performance.now();
  keys.keep(nameOf('a'), finished(10, 5_000), sent - 5_000);
  expect(keys.find(nameOf('a'))).toBeUndefined();
  keys.keep(nameOf('a'), finished(10, LONG), sent);
  expect(keys.find(nameOf('a'))).toBeDefined();
});

it('keeps nothing that was read before it was cleared', () => {
  const keys = new ReplayCache(LONG, 100_000);
  const sent = performance.now();
  keys.keep(nameOf('a'), finished(), sent);
  keys.clear();
  expect(keys.find(nameOf('a'))).toBeUndefined();
  keys.keep(nameOf('a'), finished(), sent);
  expect(keys.find(nameOf('a'))).toBeUndefined();
});

it('takes no more memory than allowed: the oldest go first', () => {
  const keys = new ReplayCache(LONG, 100_000);
  for (let i = 0; i < 1_000; i++) {
    keys.keep(nameOf(String(i)), finished(1_000), performance.now());
    expect(keys.size).toBeLessThanOrEqual(33);
  }
  expect(keys.find(nameOf('999'))).toBeDefined();
  expect(keys.find(nameOf('966'))).toBeUndefined();
  expect(keys.size).toBe(33);
});

it('leaves large answers to the database', () => {
  const keys = new ReplayCache(LONG, 100_000);
  keys.keep(nameOf('a'), finished(10_000), performance.now());
  expect(keys.size).toBe(0);
});

it('keeps nothing where it is off', () => {
  const keys = new ReplayCache(0, 0);
  keys.keep(nameOf('a'), finished(), performance.now());
  expect(keys.size).toBe(0);
});

const request: FingerprintInput = {
  method: 'POST',
  route: '/orders/:id',
  params: { id: '7' },
  url: '/orders/7?a=1',
  contentType: 'application/json',
  body: { item: 'rocket', amount: 1, to: { city: 'Oslo' } },
};

/** A new object each time, as a body parser makes it. */
const again = (changes: Partial<FingerprintInput> = {}): FingerprintInput => ({
  ...request,
  body: JSON.parse(JSON.stringify(request.body)) as unknown,
  ...changes,
});

it('recognises a request that repeats another one letter for letter, and computes nothing', () => {
  const key = new RememberedKey(finished(), LONG, 0);
  const first = key.fingerprintOf(request);
  expect(first).toEqual(fingerprint(request));
  expect(key.fingerprintOf(again())).toBe(first);
});

it('is not misled by what happens to a body after it was looked at', () => {
  const key = new RememberedKey(finished(), LONG, 0);
  const body = { item: 'rocket' };
  const first = key.fingerprintOf(again({ body }));
  body.item = 'ticket';
  expect(key.fingerprintOf(again({ body }))).toEqual(fingerprint(again({ body })));
  expect(key.fingerprintOf(again({ body: { item: 'rocket' } }))).toEqual(first);
});

it.each<[string, Partial<FingerprintInput>]>([
  ['another method', { method: 'PATCH' }],
  ['another route', { route: '/orders/:order' }],
  ['another target', { url: '/orders/8?a=1', params: { id: '8' } }],
  ['another query', { url: '/orders/7?a=2' }],
  ['another media type', { contentType: 'application/problem+json' }],
  ['another value', { body: { item: 'rocket', amount: 2, to: { city: 'Oslo' } } }],
  ['a value of another type', { body: { item: 'rocket', amount: '1', to: { city: 'Oslo' } } }],
  ['no body', { body: undefined }],
  ['text that reads like the body', { body: JSON.stringify(request.body) }],
  ['bytes that read like the body', { body: Buffer.from(JSON.stringify(request.body)) }],
  ['members in another order', { body: { amount: 1, item: 'rocket', to: { city: 'Oslo' } } }],
  ['a member more', { body: { item: 'rocket', amount: 1, to: { city: 'Oslo' }, gift: true } }],
  ['a member less', { body: { item: 'rocket', amount: 1 } }],
  ['a member of another name', { body: { item: 'rocket', amount: 1, from: { city: 'Oslo' } } }],
  ['a list instead', { body: { item: 'rocket', amount: 1, to: ['Oslo'] } }],
  ['null instead', { body: { item: 'rocket', amount: 1, to: null } }],
  ['what becomes the same JSON', { body: { item: new String('rocket'), amount: 1 } }],
  ['a long body', { body: { item: 'r'.repeat(10_000) } }],
])('does not mistake %s for the request it knows', (_, changes) => {
  const key = new RememberedKey(finished(), LONG, 0);
  key.fingerprintOf(request);
  expect(key.fingerprintOf(again(changes))).toEqual(fingerprint(again(changes)));
  // Nor the other way round.
  expect(key.fingerprintOf(again())).toEqual(fingerprint(request));
});

it('says of a body without a canonical form what is always said of it', () => {
  const key = new RememberedKey(finished(), LONG, 0);
  key.fingerprintOf(request);
  let deep: object = {};
  for (let depth = 0; depth < 200_000; depth++) deep = { deep };
  for (const body of [deep, { amount: 1n }]) {
    expect(() => key.fingerprintOf(again({ body }))).toThrow(IdempotencyProblem);
  }
});
