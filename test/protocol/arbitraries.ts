import fc from 'fast-check';
import { Deliver, Duplicates, Forget, Request, Wake } from './commands.js';
import type { Circumstances, Policy } from './model.js';
import { BEHAVIOURS } from './provider.js';
import { LIVES, type Fate } from './real.js';
import { SLOTS, type Run } from './run.js';

export function policies(): fc.Arbitrary<Policy[]> {
  const policy = fc.record<Policy>({
    inDoubt: fc.constantFrom('repeat', 'reconcile', 'stop'),
    onAbandoned: fc.constantFrom('resume', 'unknown'),
  });
  return fc.array(policy, { minLength: 1, maxLength: 6, size: 'max' });
}

/** @param points the fault points of a request */
export function commands(
  points: readonly string[],
): fc.Arbitrary<Iterable<fc.AsyncCommand<Run, Run>>> {
  const slot = fc.nat({ max: SLOTS - 1 });
  const circumstances = fc.record<Circumstances>({
    behaviour: fc.constantFrom(...BEHAVIOURS),
    reconciler: fc.constantFrom('answers', 'is_silent'),
  });
  const lives = fc.constant(LIVES);
  const dies = fateAt('dies', points);
  // A transaction that is left open locks the key's row, so that nobody could take it over.
  const stalls = fateAt(
    'stalls',
    points.filter((point) => !point.endsWith('before_commit')),
  );
  const fate = fc.oneof(lives, dies, stalls);
  const mortal = fc.oneof(lives, dies);
  const afterLease = fc.boolean();

  const request = fc
    .tuple(slot, circumstances, fate, afterLease)
    .map((given) => new Request(...given));
  const duplicates = fc
    .tuple(slot, fc.integer({ min: 2, max: 4 }), mortal, afterLease)
    .map((given) => new Duplicates(...given));
  const wake = fc.nat({ max: 5 }).map((index) => new Wake(index));
  const forget = slot.map((given) => new Forget(given));
  const deliver = fc.constant(new Deliver());

  // What leads from one attempt to the next comes more often than the rest.
  return fc.commands(
    [request, request, request, request, request, wake, wake, duplicates, forget, deliver],
    { maxCommands: 30, size: 'max' },
  );
}

function fateAt<Kind extends 'dies' | 'stalls'>(
  kind: Kind,
  points: readonly string[],
): fc.Arbitrary<Extract<Fate, { at: string }> & { kind: Kind }> {
  return fc.record({ kind: fc.constant(kind), at: fc.constantFrom(...points) });
}
