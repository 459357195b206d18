import { cpus } from 'node:os';
import type { CheckedHistories } from './checks/histories.js';
import type { Footprint } from './checks/leaks.js';
import type { CheckedRemovals } from './checks/retention.js';
import type { Violation } from './checks/violation.js';
import type { Journal } from './clients/journal.js';
import type { Faults } from './faults/faults.js';
import { FAULT_KINDS } from './faults/plan.js';
import type { World } from './world/world.js';

interface Results {
  seed: string;
  journal: Journal;
  faults: Faults;
  histories: CheckedHistories;
  removals: CheckedRemovals;
  violations: readonly Violation[];
  warm: Map<string, Footprint>;
  cold: Map<string, Footprint>;
  begun: number;
}

/** More of them say the same. */
const MOST_PRINTED = 5;

/** The figures of a run, as tables for the docs. */
export function print(results: Results): void {
  const { seed, journal, faults, histories, removals, violations, warm, cold, begun } = results;
  const minutes = ((Date.now() - begun) / 60_000).toFixed(1);
  const lines = [
    `seed ${seed}, ${minutes} minutes, Node ${process.version}, ${cpus().length} cores`,
    '',
    ...table('what', [
      ['keys', journal.keys.size],
      ['requests', journal.requests],
      ...[...journal.counts]
        .toSorted(([one], [other]) => one.localeCompare(other))
        .map(([told, count]) => [`told: ${told}`, count] as const),
      ['histories that are linearizable', histories.linearizable],
      ['histories that are undecided', histories.undecided],
      ['keys that the reaper removed', removals.byReaper],
      ['keys that were removed by hand', removals.byHand],
      ...[...cold].map(
        ([name, { heap }]) =>
          [`heap of ${name}, MiB`, `${mebi(warm.get(name)!.heap)} → ${mebi(heap)}`] as const,
      ),
      ['violations', violations.length],
    ]),
    '',
    ...table('fault', [
      ...FAULT_KINDS.map((kind) => [kind, faults.counts.get(kind) ?? 0] as const),
      ['all', faults.done.length],
    ]),
  ];
  console.log(lines.join('\n'));
}

function mebi(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

function table(heading: string, rows: readonly (readonly [string, string | number])[]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length));
  return [
    `| ${heading.padEnd(width)} | count |`,
    `| ${'-'.repeat(width)} | ----: |`,
    ...rows.map(
      ([label, value]) => `| ${label.padEnd(width)} | ${value.toLocaleString('en-US')} |`,
    ),
  ];
}

/** Everything that is known about what went wrong. */
export async function printViolations(
  violations: readonly Violation[],
  seed: string,
  world: World,
  journal: Journal,
  faults: Faults,
): Promise<void> {
  if (violations.length === 0) return;
  console.log(`\nThe plan came from the seed ${seed}. What was done of it:`);
  for (const { at, kind, target, measure } of faults.done) {
    console.log(`  at key ${at}: ${kind} (target ${target}, measure ${measure.toFixed(3)})`);
  }
  for (const { what, key, details } of violations.slice(0, MOST_PRINTED)) {
    console.log(`\nVIOLATION: ${what}${key === undefined ? '' : `: ${key}`}`);
    if (details !== undefined) console.log(JSON.stringify(details, undefined, 2));
    const history = key === undefined ? undefined : journal.keys.get(key);
    if (!history) continue;
    const { route, purchase } = history.errand;
    console.log(`its errand: ${route} ${JSON.stringify(purchase)}`);
    for (const { invoked, returned, told } of history.operations) {
      console.log(`  ${invoked} to ${returned}: ${JSON.stringify(told)}`);
    }
    console.log(
      await world.database.query('SELECT * FROM idempotency_keys WHERE key = $1', [key]),
      await world.database.query(
        `SELECT p.* FROM idempotency_phases p
         JOIN idempotency_keys k ON k.scope = p.scope AND k.id = p.key_id WHERE k.key = $1`,
        [key],
      ),
    );
  }
  for (const { name, output } of world.processes)
    console.log(`\nThe end of ${name}'s log:\n${output}`);
  console.log(`\n${violations.length} violations`);
}
