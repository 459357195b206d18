import { additions, differences } from './added.mjs';
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
const TIMES = { duration: 400, warmUp: 4_000, lead: 300, rounds: 120, until: 1_450_000 };

/**
 * What a target is about, or what takes the place of the library: a yardstick, which does a part of
 * what the library has to do.
 *
 * @typedef {object} Subject
 * @property {string} label
 * @property {string[]} needs the measures on Fastify that it is made of
 * @property {(rounds: Rounds) => number[] | undefined} of one value for each round
 */

/**
 * @typedef {object} Comparison
 * @property {string} target
 * @property {Subject} ours
 * @property {Subject[]} yardsticks
 */

const STATEMENTS = "the library's statements alone";
const TRANSACTIONS = "the library's transactions alone";
const LEAST = 'the least that a key on disk can cost';
const REMEMBERED = 'an interceptor that looks at the key alone';
const INTERCEPTED = 'an interceptor that does nothing, and the handler';

/**
 * What is measured together.
 *
 * @type {{ unit: string, comparisons: Comparison[] }[]}
 */
const GROUPS = [
  {
    unit: 'requests/s',
    comparisons: [
      freshOver('fresh/redis', 'redis.fresh'),
      freshOver('fresh/durableRedis', 'durableRedis.fresh'),
      freshOver('fresh/trips', 'trips'),
      freshOver('cpu/bare', 'bare', 'cpu'),
    ],
  },
  {
    unit: 'requests/s',
    comparisons: [
      {
        target: 'replay/redis',
        ours: quotient('ours', 'ours.replay', 'redis.replay'),
        yardsticks: [
          quotient(REMEMBERED, 'remembered.replay', 'redis.replay'),
          quotient(INTERCEPTED, 'intercepted', 'redis.replay'),
        ],
      },
    ],
  },
  {
    unit: 'requests/s',
    comparisons: [
      {
        target: 'fresh/redis/128',
        ours: quotient('ours', 'ours.crowded', 'redis.crowded'),
        yardsticks: [quotient(STATEMENTS, 'statements.crowded', 'redis.crowded')],
      },
    ],
  },
  {
    unit: 'steps/s',
    comparisons: [
      {
        target: 'local/dbos',
        ours: quotient('ours', 'ours.locals', 'dbos.locals'),
        yardsticks: [
          quotient(TRANSACTIONS, 'statements.transactions', 'dbos.locals'),
          quotient(STATEMENTS, 'statements.locals', 'dbos.locals'),
        ],
      },
    ],
  },
  {
    unit: 'steps/s',
    comparisons: [
      {
        target: 'foreign/dbos',
        ours: quotient('ours', 'ours.foreigns', 'dbos.foreigns'),
        yardsticks: [quotient(STATEMENTS, 'statements.foreigns', 'dbos.foreigns')],
      },
    ],
  },
  {
    unit: 'requests/s',
    comparisons: [
      {
        target: 'far/fresh',
        ours: addition('ours', additions.farFresh),
        yardsticks: [addition(STATEMENTS, { of: 'far.statements.alone', less: 'bare.alone' })],
      },
      {
        target: 'far/local',
        ours: addition('ours', additions.farLocal),
        yardsticks: [
          addition(TRANSACTIONS, {
            of: 'far.statements.transactions.alone',
            less: 'far.statements.alone',
            times: 5,
          }),
        ],
      },
    ],
  },
];

/**
 * How far from its targets the library is, and how far it would be if it did less.
 *
 * @param {string[]} [only] targets, such as `replay/redis`, with those they are measured with; nothing is written then
 */
export async function yardsticks(only) {
  const groups = GROUPS.filter(({ comparisons }) =>
    comparisons.some(({ target }) => !only || only.includes(target)),
  );
  if (groups.length === 0) {
    const all = GROUPS.flatMap(({ comparisons }) => comparisons.map(({ target }) => target));
    throw new Error(`--only takes ${all.join(', ')}, separated by commas.`);
  }
  const progress = new Progress();
  const blocks = groups.map(({ comparisons }) => measuresOf(neededBy(comparisons)));
  const names = [...new Set(blocks.flat().map(({ contender }) => contender))];
  const stage = await Stage.set(names, (line) => progress.say(line));
  try {
    const rounds = new Rounds(stage, blocks, progress);
    await rounds.run(
      only ? { ...TIMES, until: (TIMES.until * groups.length) / GROUPS.length } : TIMES,
    );
    await stage.clear();
    progress.end();
    const markdown = [
      `\`npm run bench -- --yardsticks\`: medians of at least ${rounds.done} interleaved rounds. In parentheses: where the median of any number of rounds of this run is, with a confidence of 95 %.`,
      environment(environmentOf(stage)),
      ...groups.flatMap(({ unit, comparisons }, index) => [
        ...comparisons.map((comparison) => compared(rounds, comparison)),
        measures(
          unit,
          (blocks[index] ?? []).map((measure) => rowOf(rounds, measure)),
        ),
      ]),
    ].join('\n\n');
    console.log(markdown);
    // Results are those of all targets, with V8 and the disk as they are.
    if (only || process.env.BENCH_YOUNG || process.env.BENCH_FLUSH) return;
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
function compared(rounds, { target, ours, yardsticks: others }) {
  const { what, bound, atLeast = -Infinity, atMost = Infinity } = targetOf(target);
  const meets = (/** @type {number} */ value) => value >= atLeast && value <= atMost;
  const rows = [ours, ...others].map(({ label, of }) => {
    const values = of(rounds);
    if (!values) return [label, '–', 'not measured'];
    const { low, high } = medianInterval(values);
    const isSure = meets(low) === meets(high);
    const outcome = meets(low) ? 'met' : '**missed**';
    const median = `${figure(summarize(values).median)} (${figure(low)}–${figure(high)})`;
    return [label, median, isSure ? outcome : 'not decided'];
  });
  return `### ${what}: ${bound}\n\n${table(['', 'median', ''], rows)}`;
}

/** @param {Comparison[]} comparisons */
function neededBy(comparisons) {
  const subjects = comparisons.flatMap(({ ours, yardsticks: others }) => [ours, ...others]);
  return new Set(subjects.flatMap(({ needs }) => needs));
}

/**
 * @param {string} target
 * @param {string} theirs
 * @param {'perSecond' | 'cpu'} [column]
 * @returns {Comparison}
 */
function freshOver(target, theirs, column) {
  return {
    target,
    ours: quotient('ours', 'ours.fresh', theirs, column),
    yardsticks: [
      quotient(STATEMENTS, 'statements', theirs, column),
      quotient(LEAST, 'rows', theirs, column),
    ],
  };
}

/**
 * @param {string} label
 * @param {string} dividend
 * @param {string} divisor
 * @param {'perSecond' | 'cpu'} [column]
 * @returns {Subject}
 */
function quotient(label, dividend, divisor, column = 'perSecond') {
  return {
    label,
    needs: [dividend, divisor],
    of: (rounds) => quotients(rounds, column, dividend, divisor),
  };
}

/**
 * @param {string} label
 * @param {Omit<import('./added.mjs').Addition, 'what'>} added
 * @returns {Subject}
 */
function addition(label, added) {
  return {
    label,
    needs: [added.of, added.less],
    of: (rounds) => differences(rounds, { what: label, ...added }, 'p50'),
  };
}
