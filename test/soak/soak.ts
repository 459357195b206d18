import { checkEffects } from './checks/effects.js';
import { checkHistories } from './checks/histories.js';
import { checkConnections, checkMemory, footprints, type Footprint } from './checks/leaks.js';
import { checkMessages } from './checks/messages.js';
import { replayAll } from './checks/replays.js';
import { checkRemovals, forget, isForgettable } from './checks/retention.js';
import { settle } from './checks/settle.js';
import type { Violation } from './checks/violation.js';
import { runErrand } from './clients/client.js';
import { planErrand } from './clients/errand.js';
import { Journal } from './clients/journal.js';
import { Faults } from './faults/faults.js';
import { planFaults } from './faults/plan.js';
import { Random } from './random.js';
import { print, printViolations } from './report.js';
import { World } from './world/world.js';

export interface SoakOptions {
  seed: string;
  /** When it ends: after so many keys, or after so many minutes. */
  until: { keys: number } | { minutes: number };
}

/** Clients that are under way at the same time. */
const LANES = 8;

/** After so many keys, or this part of all, code is compiled and pools are full. */
const WARM_UP = { keys: 150, part: 0.4 };

/** A line now and then, for whoever waits. */
const PROGRESS = 30_000;

/** Runs the shop with faults and checks what must hold. False: something does not. */
export async function soak({ seed, until }: SoakOptions): Promise<boolean> {
  const begun = Date.now();
  const world = await World.start();
  try {
    const random = new Random(seed);
    const journal = new Journal();
    const faults = new Faults(world, () => forgettable(journal));
    const warm = await disturb(world, journal, faults, random, until);
    const crashes = crashesOf(world);
    if (crashes.length > 0) {
      await printViolations(crashes, seed, world, journal, faults);
      return false;
    }
    await faults.over();

    const violations: Violation[] = await settle(world, journal);
    violations.push(...(await forget(world, journal)));
    violations.push(...(await replayAll(world, journal)));
    const cold = await footprints(world, journal.requests);
    violations.push(...checkMemory(warm, cold));
    violations.push(...(await checkEffects(world, journal)));
    violations.push(...(await checkMessages(world)));
    violations.push(...(await checkConnections(world)));
    violations.push(...crashesOf(world));
    const histories = checkHistories(journal);
    const removals = await checkRemovals(world, journal);
    violations.push(...histories.violations, ...removals.violations);

    print({ seed, journal, faults, histories, removals, violations, warm, cold, begun });
    await printViolations(violations, seed, world, journal, faults);
    return violations.length === 0;
  } finally {
    await world.close();
  }
}

/** The run ends with the first one: without that process, other things would not hold either. */
function crashesOf({ processes }: World): Violation[] {
  return processes.flatMap(({ name, crashes }) =>
    crashes.map((details) => ({ what: `${name} ended by itself`, details })),
  );
}

function forgettable(journal: Journal): string[] {
  return [...journal.keys.values()].filter(isForgettable).map(({ errand }) => errand.key);
}

/** Clients and faults side by side, until it is time to stop. Returns what was measured on the way. */
async function disturb(
  world: World,
  journal: Journal,
  faults: Faults,
  random: Random,
  until: SoakOptions['until'],
): Promise<Map<string, Footprint>> {
  const plan = planFaults(random.fork('faults'));
  const deadline = 'minutes' in until ? Date.now() + until.minutes * 60_000 : undefined;
  const most = 'keys' in until ? until.keys : Number.POSITIVE_INFINITY;
  const warmUp = Math.min(WARM_UP.keys, most * WARM_UP.part);
  let due = plan.next().value;
  let taken = 0;
  let warm: Promise<Map<string, Footprint>> | undefined;

  const isTimeLeft = () => deadline === undefined || Date.now() < deadline;

  async function lane() {
    while (taken < most && isTimeLeft() && crashesOf(world).length === 0) {
      const number = ++taken;
      for (; due.at <= number; due = plan.next().value) faults.begin(due);
      if (number > warmUp) warm ??= footprints(world, journal.requests);
      await runErrand(planErrand(number, random), world.servers, journal);
      for (const each of world.processes) each.forget();
    }
  }
  const progress = setInterval(() => {
    console.error(`${taken} keys, ${journal.requests} requests, ${faults.done.length} faults`);
  }, PROGRESS);
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
    if (crashesOf(world).length > 0) return new Map();
    return await (warm ?? footprints(world, journal.requests));
  } finally {
    clearInterval(progress);
  }
}
