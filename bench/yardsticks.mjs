import { blocksOf } from './measures.mjs';
import { Progress } from './progress.mjs';
import { resultsName, writeResults } from './report/files.mjs';
import { figure, table } from './report/format.mjs';
import { environment, measures } from './report/markdown.mjs';
import { environmentOf, rowOf } from './report/outcome.mjs';
import { Rounds } from './rounds.mjs';
import { Stage } from './setup/stage.mjs';
import { medianInterval, summarize } from './statistics.mjs';
import { quotients, targetOf } from './targets.mjs';

/** Many rounds of few measures: a yardstick may be near its target, so the noise has to be small. */
const TIMES = { duration: 400, warmUp: 4_000, lead: 300, rounds: 80, until: 570_000 };

/**
 * A target, whom the library is divided by, and what may take the place of the library: contenders
 * that do a part of what it has to do.
 *
 * @typedef {object} Comparison
 * @property {string} target
 * @property {'perSecond' | 'cpu'} column
 * @property {string} ours
 * @property {string} theirs
 * @property {string[]} instead
 */

const fresh = /** @type {const} */ ({ column: 'perSecond', ours: 'ours.fresh' });

/** @type {Comparison[]} */
const COMPARISONS = [
  {
    target: 'fresh/redis',
    ...fresh,
    theirs: 'redis.fresh',
    instead: ['statements', 'rows'],
  },
  {
    target: 'fresh/durableRedis',
    ...fresh,
    theirs: 'durableRedis.fresh',
    instead: ['statements', 'rows'],
  },
  { target: 'fresh/trips', ...fresh, theirs: 'trips', instead: ['statements', 'rows'] },
  {
    target: 'cpu/bare',
    column: 'cpu',
    ours: 'ours.fresh',
    theirs: 'bare',
    instead: ['statements', 'rows', 'intercepted'],
  },
  {
    target: 'local/dbos',
    column: 'perSecond',
    ours: 'ours.locals',
    theirs: 'dbos.locals',
    instead: ['statements.transactions', 'statements.typeorm', 'statements.locals', 'rows.locals'],
  },
];

/** How far from its targets the library is, and how far it would be if it did less. */
export async function yardsticks() {
  const progress = new Progress();
  const blocks = blocksOf('yardsticks');
  const names = [...new Set(blocks.flat().map(({ contender }) => contender))];
  const stage = await Stage.set(names, (line) => progress.say(line));
  try {
    const rounds = new Rounds(stage, blocks, progress);
    await rounds.run(TIMES);
    await stage.clear();
    progress.end();
    const markdown = [
      `\`npm run bench -- --yardsticks\`: medians of at least ${rounds.done} interleaved rounds. In parentheses: where the median of any number of rounds is, with a confidence of 95 %.`,
      environment(environmentOf(stage)),
      ...COMPARISONS.map((comparison) => compared(rounds, comparison)),
      ...['requests/s', 'steps/s'].map((unit, block) => {
        const rows = (blocks[block] ?? []).map((measure) => rowOf(rounds, measure));
        return measures(unit, rows);
      }),
    ].join('\n\n');
    console.log(markdown);
    const file = await writeResults(resultsName('yardsticks'), {
      markdown: `# Yardsticks\n\n${markdown}`,
    });
    console.log(`\nWritten to ${file}.`);
  } finally {
    await stage.strike();
  }
}

/**
 * @param {Rounds} rounds
 * @param {Comparison} comparison
 */
function compared(rounds, { target: id, column, ours, theirs, instead }) {
  const { what, bound, atLeast, atMost } = targetOf(id);
  const labels = new Map(rounds.measures.map((measure) => [measure.id, measure.label]));
  const rows = [ours, ...instead].map((dividend) => {
    const label = labels.get(dividend) ?? dividend;
    const found = quotients(rounds, column, dividend, theirs);
    if (!found) return [label, '–', 'not measured'];
    const { low, high } = medianInterval(found);
    const meets = (/** @type {number} */ value) =>
      value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
    const sure = meets(low) === meets(high);
    const verdict = sure ? (meets(low) ? 'met' : '**missed**') : 'not decided';
    return [label, `${figure(summarize(found).median)} (${figure(low)}–${figure(high)})`, verdict];
  });
  return `### ${what}: ${bound}\n\n${table(['', 'ratio', ''], rows)}`;
}
