import { describe, expect, it } from '@jest/globals';
import { planErrand } from './clients/errand.js';
import { FAULT_KINDS, planFaults, type PlannedFault } from './faults/plan.js';
import { Random } from './random.js';

function faults(seed: string, count: number): PlannedFault[] {
  const plan = planFaults(new Random(seed).fork('faults'));
  return Array.from({ length: count }, () => plan.next().value);
}

describe('The plan of a soak', () => {
  it('comes from its seed', () => {
    expect(faults('7', 100)).toEqual(faults('7', 100));
    expect(faults('8', 100)).not.toEqual(faults('7', 100));
  });

  it('has every kind of fault before the keys of .ci/run are through', () => {
    const early = faults('7', 100).filter(({ at }) => at <= 150);
    expect(new Set(early.map(({ kind }) => kind))).toEqual(new Set(FAULT_KINDS));
  });

  it('gives a client the same errand, whichever errands came before', () => {
    const all = new Random('7');
    const third = planErrand(3, all);
    planErrand(1, all).random.next();
    const again = planErrand(3, all);
    expect(again).toEqual(third);
    expect([again.random.next(), again.random.next()]).toEqual([
      third.random.next(),
      third.random.next(),
    ]);
  });
});
