import fc from 'fast-check';
import { Deliver, Duplicates, Forget, Request, Resolve, Wake } from './commands.js';
import { LIVES, type Fate } from './fate.js';
import { BEHAVIOURS } from './provider.js';
import { SLOTS, type Run } from './run.js';
import type { Circumstances, Policy } from './vocabulary.js';

export function policies(): fc.Arbitrary<Policy[]> {
  const policy = fc.record<Policy>({
    inDoubt: fc.constantFrom('repeat', 'reconcile', 'stop'),
    onAbandoned: fc.constantFrom('resume', 'unknown'),
  });
  return fc.array(policy, { minLength: 1, maxLength: 6, size: 'max' });
}

export function commands(): fc.Arbitrary<Iterable<fc.AsyncCommand<Run, Run>>> {
  const slot = fc.nat({ max: SLOTS - 1 });
  const circumstances = fc.record<Circumstances>({
    behaviour: fc.constantFrom(...BEHAVIOURS),
    reconciler: fc.constantFrom('answers', 'is_silent'),
  });
  const dies = fateOf('dies');
  const fate = fc.oneof(fc.constant(LIVES), dies, fateOf('stalls'));
  const mortal = fc.oneof(fc.constant(LIVES), dies);
  // A client that comes earlier is just told to wait.
  const afterLease = fc.constantFrom(true, true, true, false);

  const request = fc
    .tuple(slot, circumstances, fate, afterLease)
    .map((given) => new Request(...given));
  const duplicates = fc
    .tuple(slot, fc.integer({ min: 2, max: 4 }), mortal, afterLease)
    .map((given) => new Duplicates(...given));
  const wake = fc.nat({ max: 5 }).map((index) => new Wake(index));
  const forget = slot.map((given) => new Forget(given));
  const resolve = fc.tuple(slot, fc.nat({ max: 5 })).map((given) => new Resolve(...given));
  const deliver = fc.constant(new Deliver());

  // What leads from one attempt to the next comes more often than the rest.
  return fc.commands(
    [request, request, request, request, request, wake, wake, duplicates, resolve, forget, deliver],
    { maxCommands: 30, size: 'max' },
  );
}

/** A whole request has a dozen fault points, and a resumed one fewer. */
function fateOf(kind: 'dies' | 'stalls'): fc.Arbitrary<Fate> {
  return fc.record({ kind: fc.constant(kind), after: fc.nat({ max: 11 }) });
}
