import { describe, expect, it } from '@jest/globals';
import { PLAIN } from '../../lib/encryption/plain-cipher.js';
import { MemoryReplayCache, NoReplayCache } from '../../lib/keys/replay-cache.js';
import type { FoundKey } from '../../lib/keys/found-key.js';
import type { ResolvedPolicy } from '../../lib/policy/resolve-policy.js';
import type { KeyedRequest } from '../../lib/request/request-reader.js';
import { Observation } from '../../lib/telemetry/observation.js';

const LONG = 1_000_000;
const nameOf = (key: string) => ({ scope: 'ada', endpoint: '', key });

const SAME = Buffer.alloc(32, 'same');
const OTHER = Buffer.alloc(32, 'other');
const policy = { onExpired: 'forget', onMismatch: 'reject', run: 'request' } as ResolvedPolicy;

function requestFor(key: string, fingerprint: Buffer): KeyedRequest {
  return {
    ...nameOf(key),
    fingerprint,
    observed: new Observation('OrdersController.create'),
    summarise: () => ({ method: '', route: '', path: '' }),
  };
}

function finished(bytes = 10, expiresIn: number | null = null): FoundKey {
  const answer = { status: 201, headers: {}, body: Buffer.alloc(bytes) };
  return { status: 'completed', answer, expiresIn, fingerprint: SAME } as unknown as FoundKey;
}

describe('The replay cache', () => {
  it('remembers a key as it was read', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    const key = finished();
    keys.keep(nameOf('a'), key, performance.now());
    expect(keys.find(nameOf('a'))).toMatchObject({ key });
    expect(keys.find(nameOf('b'))).toBeUndefined();
    expect(keys.find({ ...nameOf('a'), scope: 'grace' })).toBeUndefined();
    expect(keys.find({ ...nameOf('a'), endpoint: 'POST /a' })).toBeUndefined();
  });

  it('counts from the time its statement was sent, not from the time of the reply', () => {
    const keys = new MemoryReplayCache(1_000, 100_000);
    keys.keep(nameOf('a'), finished(), performance.now() - 1_000);
    expect(keys.find(nameOf('a'))).toBeUndefined();
    expect(keys.size).toBe(0);
  });

  it('does not remember a key beyond its retention', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    const sent = performance.now();
    keys.keep(nameOf('a'), finished(10, 5_000), sent - 5_000);
    expect(keys.find(nameOf('a'))).toBeUndefined();
    keys.keep(nameOf('a'), finished(10, LONG), sent);
    expect(keys.find(nameOf('a'))).toBeDefined();
  });

  it('keeps nothing that was read before it was cleared', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    const sent = performance.now();
    keys.keep(nameOf('a'), finished(), sent);
    keys.clear();
    expect(keys.find(nameOf('a'))).toBeUndefined();
    keys.keep(nameOf('a'), finished(), sent);
    expect(keys.find(nameOf('a'))).toBeUndefined();
  });

  it('uses no more memory than allowed: the oldest keys go first', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    for (let i = 0; i < 1_000; i++) {
      keys.keep(nameOf(String(i)), finished(1_000), performance.now());
      expect(keys.size).toBeLessThanOrEqual(33);
    }
    expect(keys.find(nameOf('999'))).toBeDefined();
    expect(keys.find(nameOf('966'))).toBeUndefined();
    expect(keys.size).toBe(33);
  });

  it('leaves large answers to the database', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    keys.keep(nameOf('a'), finished(10_000), performance.now());
    expect(keys.size).toBe(0);
  });

  it('keeps nothing after it is closed', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    keys.keep(nameOf('a'), finished(), performance.now());
    keys.close();
    keys.keep(nameOf('b'), finished(), performance.now());
    expect(keys.size).toBe(0);
  });

  it('decides as the database would', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    const key = finished();
    keys.keep(nameOf('a'), key, performance.now());
    const decision = keys.decide(requestFor('a', SAME), policy, PLAIN);
    expect(decision).toMatchObject({ kind: 'replay', answer: key.answer });
    expect(keys.decide(requestFor('a', OTHER), policy, PLAIN)).toEqual({ kind: 'mismatch' });
    expect(keys.decide(requestFor('b', SAME), policy, PLAIN)).toBeUndefined();
  });

  it('asks for the fingerprint of a retry once, and again where the retry differs', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    keys.keep(nameOf('a'), finished(), performance.now());
    let taken = 0;
    const retry = (text: string | undefined, fingerprint: Buffer) => {
      const asked = { ...requestFor('a', fingerprint), text };
      const get = () => {
        taken += 1;
        return fingerprint;
      };
      return keys.decide(Object.defineProperty(asked, 'fingerprint', { get }), policy, PLAIN)?.kind;
    };
    // To the letter.
    expect(retry('{"a":1,"b":2}', SAME)).toBe('replay');
    expect(retry('{"a":1,"b":2}', SAME)).toBe('replay');
    expect(taken).toBe(1);
    // The same members in another order.
    expect(retry('{"b":2,"a":1}', SAME)).toBe('replay');
    expect(taken).toBe(2);
    // Another request, twice.
    expect(retry('{"a":9}', OTHER)).toBe('mismatch');
    expect(retry('{"a":9}', OTHER)).toBe('mismatch');
    expect(taken).toBe(3);
    // Without a text.
    expect(retry(undefined, OTHER)).toBe('mismatch');
    expect(retry(undefined, SAME)).toBe('replay');
    expect(taken).toBe(5);
  });

  it('refuses a retry without a fingerprint each time, and keeps nothing of it', () => {
    const keys = new MemoryReplayCache(LONG, 100_000);
    keys.keep(nameOf('a'), finished(), performance.now());
    const valid = () => keys.decide(requestFor('a', SAME), policy, PLAIN)?.kind;
    const invalid = () => {
      const get = () => {
        throw new Error('no canonical form');
      };
      const asked = { ...requestFor('a', SAME), text: '"half of a pair"' };
      return keys.decide(Object.defineProperty(asked, 'fingerprint', { get }), policy, PLAIN);
    };
    expect(valid()).toBe('replay');
    expect(invalid).toThrow('no canonical form');
    expect(invalid).toThrow('no canonical form');
    expect(valid()).toBe('replay');
  });

  it('can be turned off', () => {
    const none = new NoReplayCache();
    none.keep();
    expect(none.decide()).toBeUndefined();
  });
});
