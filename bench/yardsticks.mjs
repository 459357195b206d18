import { measuresOf } from './measures.mjs';
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
const TIMES = { duration: 400, warmUp: 4_000, lead: 300, rounds: 120, until: 1_200_000 };

/**
 * @typedef {object} Comparison
 * @property {string} target
 * @property {'perSecond' | 'cpu'} column
 * @property {string} theirs what the library is divided by
 */

/**
 * What is measured together. The yardsticks take the place of the library: they do a part of what it
 * has to do.
 *
 * @typedef {object} Group
 * @property {string} unit
 * @property {string} ours
 * @property {string[]} yardsticks
 * @property {Comparison[]} comparisons
 */

/** @type {Group[]} */
const GROUPS = [
  {
    unit: 'requests/s',
    ours: 'ours.fresh',
    yardsticks: ['statements'],
    comparisons: [
      { target: 'fresh/redis', column: 'perSecond', theirs: 'redis.fresh' },
      { target: 'fresh/durableRedis', column: 'perSecond', theirs: 'durableRedis.fresh' },
      { target: 'fresh/trips', column: 'perSecond', theirs: 'trips' },
      { target: 'cpu/bare', column: 'cpu', theirs: 'bare' },
    ],
  },
  {
    unit: 'steps/s',
    ours: 'ours.locals',
    yardsticks: ['statements.transactions', 'statements.locals'],
    comparisons: [{ target: 'local/dbos', column: 'perSecond', theirs: 'dbos.locals' }],
  },
];

/** How far from its targets the library is, and how far it would be if it did less. */
export async function yardsticks() {
  const progress = new Progress();
  const blocks = GROUPS.map(({ ours, yardsticks: others, comparisons }) =>
    measuresOf([ours, ...others, ...comparisons.map(({ theirs }) => theirs)]),
  );
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
      ...GROUPS.flatMap((group, index) => [
        ...group.comparisons.map((comparison) => compared(rounds, group, comparison)),
        measures(
          group.unit,
          (blocks[index] ?? []).map((measure) => rowOf(rounds, measure)),
        ),
      ]),
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
 * @param {Group} group
 * @param {Comparison} comparison
 */
function compared(rounds, { ours, yardsticks: others }, { target, column, theirs }) {
  const { what, bound, atLeast = -Infinity, atMost = Infinity } = targetOf(target);
  const meets = (/** @type {number} */ value) => value >= atLeast && value <= atMost;
  const labels = new Map(rounds.measures.map(({ id, label }) => [id, label]));
  const rows = [ours, ...others].map((dividend) => {
    const label = labels.get(dividend) ?? dividend;
    const found = quotients(rounds, column, dividend, theirs);
    if (!found) return [label, '–', 'not measured'];
    const { low, high } = medianInterval(found);
    const isSure = meets(low) === meets(high);
    const outcome = meets(low) ? 'met' : '**missed**';
    const ratio = `${figure(summarize(found).median)} (${figure(low)}–${figure(high)})`;
    return [label, ratio, isSure ? outcome : 'not decided'];
  });
  return `### ${what}: ${bound}\n\n${table(['', 'ratio', ''], rows)}`;
}
