import { beforeOf, measuresBeforeAndAfter, nameOf } from './measures.mjs';
import { Progress } from './progress.mjs';
import { table, withSpread } from './report/format.mjs';
import { Rounds } from './rounds.mjs';
import { Stage } from './setup/stage.mjs';
import { ratio } from './statistics.mjs';

/** Short windows and many of them: the machine's slow moments then hit both sides alike. */
const TIMES = { duration: 400, warmUp: 1_500, rounds: 60, until: 130_000 };

/** What is compared, with the direction in which a change is good. */
const COLUMNS = /** @type {const} */ ([
  ['throughput', 'perSecond'],
  ['median latency', 'p50'],
  ['CPU of Node', 'cpu'],
  ['CPU of PostgreSQL', 'databaseCpu'],
  ['write-ahead log', 'log'],
]);

/**
 * This code beside the code of another commit, in one run and interleaved. Two runs
 * one after the other cannot be compared: the machine differs from minute to minute.
 *
 * @param {string} ref
 * @param {string[]} [only] the measures; all of them without it
 */
export async function against(ref, only) {
  const progress = new Progress();
  const measures = measuresBeforeAndAfter(only);
  const stage = await Stage.set(['ours', 'before'], (line) => progress.say(line), ref);
  try {
    const rounds = new Rounds(stage, measures, progress);
    await rounds.run(TIMES);
    await stage.clear();
    progress.end();
    for (const [name, why] of rounds.failures) console.log(`${name}: ${why}`);
    console.log(`This code ÷ ${ref}, ${rounds.done} rounds: median (lowest to highest)\n`);
    console.log(table(['measure', ...COLUMNS.map(([title]) => title)], rowsOf(rounds, measures)));
  } finally {
    await stage.strike();
  }
}

/**
 * @param {Rounds} rounds
 * @param {import('./measures.mjs').Measure[]} measures
 */
function rowsOf({ samples }, measures) {
  return measures
    .filter(({ contender }) => contender === 'ours')
    .map((measure) => {
      const now = samples.get(nameOf(measure));
      const before = samples.get(nameOf({ ...measure, id: beforeOf(measure.id) }));
      const values = COLUMNS.map(([, column]) => {
        if (!now || !before) return 'failed';
        return withSpread(
          ratio(
            now.map((sample) => sample[column]),
            before.map((sample) => sample[column]),
          ),
        );
      });
      return [measure.label, ...values];
    });
}
