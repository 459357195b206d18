import { nameOf } from './measures.mjs';
import { Progress } from './progress.mjs';
import { table, withSpread } from './report/format.mjs';
import { Rounds } from './rounds.mjs';
import { Stage } from './setup/stage.mjs';
import { ratio } from './statistics.mjs';

/** Short windows and many of them: the machine's slow moments then hit both sides alike. */
const TIMES = { duration: 400, warmUp: 1_500, rounds: 60, until: 130_000 };

/** What is compared. */
const COLUMNS = /** @type {const} */ ([
  ['throughput', 'perSecond'],
  ['median latency', 'p50'],
  ['CPU of Node', 'cpu'],
  ['CPU of PostgreSQL', 'databaseCpu'],
  ['write-ahead log', 'log'],
]);

/** @typedef {import('./contenders.mjs').ContenderName} ContenderName */

/** @typedef {import('./measures.mjs').Kind} Kind */

/**
 * Forms of the library beside one another, in one run and interleaved. Two runs one
 * after the other cannot be compared: the machine differs from minute to minute.
 *
 * @param {object} comparison
 * @param {ContenderName} comparison.base by which the others are divided
 * @param {Partial<Record<ContenderName, string>>} comparison.others what the report calls them
 * @param {Kind[]} comparison.kinds
 * @param {string} comparison.title
 * @param {string} [comparison.ref] the commit of the contender `before`
 */
export async function beside({ base, others, kinds, title, ref }) {
  const names = /** @type {ContenderName[]} */ ([base, ...Object.keys(others)]);
  const measures = kinds.flatMap((kind) => names.map((name) => measureOf(kind, name)));
  const progress = new Progress();
  const stage = await Stage.set(names, (line) => progress.say(line), ref);
  try {
    const rounds = new Rounds(stage, [measures], progress);
    await rounds.run(TIMES);
    await stage.clear();
    progress.end();
    for (const [name, why] of rounds.failures) console.log(`${name}: ${why}`);
    console.log(`${title}, ${rounds.done} rounds: median (lowest to highest)\n`);
    const rows = kinds.flatMap((kind) =>
      Object.entries(others).map(([name, label]) => [
        label === '' ? kind.label : `${kind.label}: ${label}`,
        ...ratiosOf(rounds, kind, /** @type {ContenderName} */ (name), base),
      ]),
    );
    console.log(table(['measure', ...COLUMNS.map(([heading]) => heading)], rows));
  } finally {
    await stage.strike();
  }
}

/**
 * @param {Kind} kind
 * @param {ContenderName} contender
 * @returns {import('./measures.mjs').Measure}
 */
function measureOf(kind, contender) {
  return {
    ...kind,
    id: kind.id.replace('ours.', `${contender}.`),
    contender,
    platform: 'fastify',
  };
}

/**
 * @param {Rounds} rounds
 * @param {Kind} kind
 * @param {ContenderName} name
 * @param {ContenderName} base
 */
function ratiosOf({ samples }, kind, name, base) {
  const ours = samples.get(nameOf(measureOf(kind, name)));
  const theirs = samples.get(nameOf(measureOf(kind, base)));
  return COLUMNS.map(([, column]) => {
    if (!ours || !theirs) return 'failed';
    return withSpread(
      ratio(
        ours.map((sample) => sample[column]),
        theirs.map((sample) => sample[column]),
      ),
    );
  });
}
