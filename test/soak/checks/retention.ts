import { setTimeout as delay } from 'node:timers/promises';
import { BRIEF, isBrief } from '../clients/errand.js';
import { finalAnswer, type Journal, type KeyHistory } from '../clients/journal.js';
import { TIMES } from '../times.js';
import {
  leftOvers,
  passRetention,
  removals,
  removeByHand,
  type Removal,
} from '../world/removals.js';
import type { World } from '../world/world.js';
import { Patience } from './patience.js';
import type { Violation } from './violation.js';

const PAUSE = 250;

/** Where the new expiry would hardly differ, a key keeps the one that it has. */
const LEAST_RETENTION = 0.9 * TIMES.retention;

/**
 * A key that somebody may remove by hand: its client has its answer, and no request for it is
 * on its way. One without an answer may stand still in a stopped process.
 */
export function isForgettable({ errand, isOver, operations }: KeyHistory): boolean {
  return isBrief(errand) && isOver && operations.every(({ told }) => told.kind !== 'nothing');
}

/** After everything has ended: the retention of brief keys is over, and nothing is left of them. */
export async function forget({ database }: World, journal: Journal): Promise<Violation[]> {
  await passRetention(database);
  // Half of them by hand, so that there are phases without a key, whenever the reaper comes.
  const some = [...journal.keys.keys()].filter((key) => key.startsWith(BRIEF));
  await removeByHand(database, some.slice(0, some.length / 2), LEAST_RETENTION);
  const patience = new Patience();
  let left = await leftOvers(database);
  while (left.keys + left.phases > 0 && patience.lasts(left.keys + left.phases)) {
    await delay(PAUSE);
    left = await leftOvers(database);
  }
  return left.keys + left.phases > 0
    ? [{ what: 'the reaper leaves something behind', details: left }]
    : [];
}

export interface CheckedRemovals {
  violations: Violation[];
  byReaper: number;
  byHand: number;
}

/** Only finished keys are removed, only after their retention, and none comes back. */
export async function checkRemovals(
  { database }: World,
  journal: Journal,
): Promise<CheckedRemovals> {
  const found = (await removals(database)).filter((removal) => !isGivenBack(removal));
  const violations: Violation[] = [];
  const gone = new Set<string>();
  for (const removal of found) {
    const { key } = removal;
    if (isTooEarly(removal)) {
      violations.push({ what: 'a key was removed too early', key, details: removal });
    }
    if (gone.has(key)) violations.push({ what: 'a key was removed and came back', key });
    gone.add(key);
  }
  for (const [key, history] of journal.keys) {
    if (isBrief(history.errand) && finalAnswer(history) && !gone.has(key))
      violations.push({ what: 'a key vanished without being removed', key });
  }
  const byHand = found.filter((removal) => removal.byHand).length;
  return { violations, byReaper: found.length - byHand, byHand };
}

/** A reservation that arrived when its request had been refused: nothing ran. */
function isGivenBack({ status, begun }: Removal): boolean {
  return status === 'in_progress' && !begun;
}

function isTooEarly({ key, status, age, expired, byHand }: Removal): boolean {
  if (!key.startsWith(BRIEF) || status !== 'completed') return true;
  return !byHand && (!expired || age < LEAST_RETENTION);
}
