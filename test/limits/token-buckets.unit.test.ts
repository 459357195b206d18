import { describe, expect, it } from '@jest/globals';
import { TokenBuckets } from '../../lib/limits/token-buckets.js';

const TEN_PER_SECOND = { interval: 100, burst: 3 };

describe('Token buckets', () => {
  let now = 0;
  const clock = () => now;
  /** How many of ten requests get a token. */
  const taken = (buckets: TokenBuckets, scope: string) =>
    Array.from({ length: 10 }, () => buckets.take(scope, TEN_PER_SECOND)).filter(
      (missing) => missing === 0,
    ).length;

  it('have a burst, and then the rate', () => {
    const buckets = new TokenBuckets(clock);
    expect(taken(buckets, 'a')).toBe(3);
    expect(buckets.take('a', TEN_PER_SECOND)).toBe(100);
    now += 250;
    expect(taken(buckets, 'a')).toBe(2);
    expect(buckets.take('a', TEN_PER_SECOND)).toBe(50);
    now += 10_000;
    expect(taken(buckets, 'a')).toBe(3);
  });

  it('know their scopes apart', () => {
    const buckets = new TokenBuckets(clock);
    expect(taken(buckets, 'a')).toBe(3);
    expect(taken(buckets, 'b')).toBe(3);
  });

  it('take a token back', () => {
    const buckets = new TokenBuckets(clock);
    taken(buckets, 'a');
    buckets.giveBack('a', TEN_PER_SECOND);
    expect(taken(buckets, 'a')).toBe(1);
    buckets.giveBack('never seen', TEN_PER_SECOND);
    expect(taken(buckets, 'never seen')).toBe(3);
  });

  it('give every token of a rate that is no round number', () => {
    const buckets = new TokenBuckets(clock);
    const seven = { interval: 1_000 / 7, burst: 7 };
    now = 123_456.789;
    const missing = Array.from({ length: 8 }, () => buckets.take('a', seven));
    expect(missing.filter((each) => each === 0)).toHaveLength(7);
  });

  it('of a million scopes are forgotten when they are full, and only then', () => {
    const buckets = new TokenBuckets(clock);
    let ofBusy = taken(buckets, 'busy');
    let largest = 0;
    for (let scope = 0; scope < 1_000_000; scope++) {
      // One new scope in each millisecond, and each is full again after 100 ms.
      now += 1;
      buckets.take(`scope ${scope}`, TEN_PER_SECOND);
      if (scope % 50 === 49) ofBusy += taken(buckets, 'busy');
      largest = Math.max(largest, buckets.size);
    }
    expect(largest).toBeLessThan(200);
    // Its burst, and ten in each of the thousand seconds: a bucket that is not full is kept.
    expect(ofBusy).toBe(3 + 10_000);
  });
});
