import { describe, expect, it } from '@jest/globals';
import { medianInterval } from '../../bench/statistics.mjs';

/** 1 to `count`, in an order that is not theirs. */
function shuffled(count: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return numbers.toSorted((a, b) => ((a * 7) % 11) - ((b * 7) % 11));
}

describe('The confidence interval of a median', () => {
  // The ranks of the sign test, as tables of statistics have them.
  it.each([
    [6, 1, 6],
    [9, 2, 8],
    [15, 4, 12],
    [25, 8, 18],
    [40, 14, 27],
    [100, 40, 61],
  ])('of %d rounds goes from rank %d to rank %d', (count, low, high) => {
    expect(medianInterval(shuffled(count))).toEqual({ low, high });
  });

  it('is refused for fewer than six rounds', () => {
    expect(() => medianInterval(shuffled(5))).toThrow('5 rounds are too few');
  });
});
