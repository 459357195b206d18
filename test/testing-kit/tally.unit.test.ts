import { describe, expect, it } from '@jest/globals';
import { Tally } from '../../lib/testing/tally.js';

const point = { keyId: '1', attempt: 1 };
const committed = {
  ...point,
  name: 'charged:after_commit',
  step: 'after_commit',
  phase: 'charged',
} as const;
const intended = (effectKey: string) =>
  ({
    ...point,
    name: 'charged:after_intent',
    step: 'after_intent',
    phase: 'charged',
    effectKey,
  }) as const;

describe('The tally of the testing kit', () => {
  it('finds a phase that was committed twice', () => {
    const tally = new Tally();
    tally.add(committed, false);
    expect(tally.problems).toEqual([]);
    tally.add(committed, false);
    expect(tally.problems).toEqual(['phase "charged" was committed 2 times']);
  });

  it('counts a commit that was the last thing its process did', () => {
    const tally = new Tally();
    tally.add(committed, true);
    expect(tally.commits).toEqual({ charged: 1 });
  });

  it('finds a call that was made under two effect keys, and accepts a repeat', () => {
    const tally = new Tally();
    tally.add(intended('a'), false);
    tally.add(intended('a'), false);
    expect(tally.problems).toEqual([]);
    tally.add(intended('b'), false);
    expect(tally.problems).toEqual(['phase "charged" was called under 2 effect keys: a, b']);
  });

  it('does not count a call that its process died before making', () => {
    const tally = new Tally();
    tally.add(intended('a'), true);
    expect(tally.calls).toEqual({});
  });
});
