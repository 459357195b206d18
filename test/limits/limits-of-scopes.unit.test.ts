import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { resolveLimits } from '../../lib/limits/resolve-limits.js';
import { ScopeLimits } from '../../lib/limits/scope-limits.js';

describe('The limits of scopes', () => {
  const errors: string[] = [];
  beforeEach(() => {
    errors.length = 0;
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line) => void errors.push(line));
  });
  afterEach(() => void jest.restoreAllMocks());

  it.each<[string, () => unknown, RegExp]>([
    ['throws', () => raise('no plan'), /no plan/],
    ['rejects', () => Promise.reject(new Error('plans are down')), /plans are down/],
    ['returns nothing', () => undefined, /limits is undefined.*\{\} for no limits/],
    ['returns a list', () => [], /limits is \[\]/],
    ['returns a misspelt name', () => ({ newKeysPerSeconds: 1 }), /Did you mean newKeysPerSecond/],
    ['returns no number', async () => ({ outstanding: '5' }), /limits.outstanding is '5'/],
    ['returns NaN', async () => ({ newKeysPerSecond: NaN }), /limits.newKeysPerSecond is NaN/],
  ])('are not known if their function %s, and the log says so', async (_, answer, words) => {
    let asked = 0;
    const limits = new ScopeLimits(() => ((asked += 1), answer()));
    expect(await limits.of('a')).toBeUndefined();
    expect(await limits.of('a')).toBeUndefined();
    expect(asked).toBe(2);
    expect(errors).toEqual([expect.stringMatching(words)]);
    expect(errors[0]).toMatch(/new keys are refused with 503/);
  });

  it('have one second of keys as their burst, at least one', () => {
    expect(resolveLimits('here', { newKeysPerSecond: 2.5 })).toMatchObject({
      interval: 400,
      burst: 3,
    });
    expect(resolveLimits('here', { newKeysPerSecond: 0.1 })).toMatchObject({ burst: 1 });
  });
});

function raise(message: string): never {
  throw new Error(message);
}
