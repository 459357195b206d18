import { describe, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { IdempotencySettings } from '../../lib/idempotency.settings.js';

describe('Options of limits that cannot be meant', () => {
  const error = (options: object): Error => {
    try {
      new IdempotencySettings({ scope: 'global', ...options } as IdempotencyModuleOptions);
    } catch (thrown) {
      return thrown as Error;
    }
    throw new Error('They were accepted.');
  };

  it.each<[object, RegExp]>([
    [{ limits: null }, /limits is null\. Use an object such as/],
    [{ limits: 100 }, /limits is 100/],
    [{ limits: [] }, /limits is \[\]/],
    [
      { limits: { newKeysPerSeconds: 1 } },
      /no option limits\.newKeysPerSeconds.*newKeysPerSecond\?/,
    ],
    [{ limits: { newKeysPerSecond: 0 } }, /newKeysPerSecond is 0\. Use a number above 0/],
    [{ limits: { newKeysPerSecond: -1 } }, /newKeysPerSecond is -1/],
    [{ limits: { newKeysPerSecond: NaN } }, /newKeysPerSecond is NaN/],
    [{ limits: { newKeysPerSecond: Infinity } }, /newKeysPerSecond is Infinity.*leave it out/],
    [{ limits: { newKeysPerSecond: '60' } }, /newKeysPerSecond is '60'/],
    [{ limits: { newKeysPerSecond: null } }, /newKeysPerSecond is null/],
    [{ limits: { burst: 5 } }, /burst has no effect without limits\.newKeysPerSecond/],
    [{ limits: { newKeysPerSecond: 1, burst: 0.5 } }, /burst is 0\.5\. Use a whole number/],
    [{ limits: { outstanding: 0 } }, /outstanding is 0\. Use a whole number from 1/],
    [{ limits: { waiting: -1 } }, /waiting is -1\. Use a whole number from 0/],
    [
      { limits: { storedKeys: 2_000_000 } },
      /storedKeys is 2000000\. Use a whole number from 1 to 1000000/,
    ],
    [{ limits: { storedBytes: '1GB' } }, /storedBytes is '1GB'/],
    [{ circuitBreaker: true }, /circuitBreaker is true\. Use \{ failures, after \}, or false/],
    [{ circuitBreaker: null }, /circuitBreaker is null/],
    [{ circuitBreaker: { failure: 1 } }, /circuitBreaker\.failure .*Did you mean failures/],
    [{ circuitBreaker: { failures: 1.5 } }, /circuitBreaker\.failures is 1\.5/],
    [{ circuitBreaker: { after: 'soon' } }, /circuitBreaker\.after is 'soon'.*not a duration/],
  ])('are refused at boot: %j', (options, words) => {
    const refused = error(options);
    expect(refused).toBeInstanceOf(IdempotencyConfigurationError);
    expect(refused.message).toMatch(words);
  });

  it('are not among those that turn something off', () => {
    const { circuitBreaker, limits } = new IdempotencySettings({
      scope: 'global',
      circuitBreaker: false,
      limits: {},
    });
    expect(circuitBreaker).toBe(false);
    expect(limits).toMatchObject({ interval: 0, outstanding: Infinity, waiting: Infinity });
    expect(new IdempotencySettings({ scope: 'global', storeTimeout: '3s' })).toMatchObject({
      circuitBreaker: { failures: 3, after: 3_000 },
      limits: undefined,
    });
  });
});
