import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { ratio } from '../statistics.mjs';
import { fillKeys } from './fill.mjs';
import { interleave } from './interleave.mjs';

const SIZES = [10_000, 1_000_000, 10_000_000];
/** How keys are asked for, and what the report calls it. */
const KINDS = [
  { job: { connections: 32 }, label: '32 connections' },
  { job: { connections: 32, timeOrdered: true }, label: 'UUIDv7, 32 connections' },
  { job: { connections: 1 }, label: '1 connection' },
];
/** What a table a thousand times as large may cost, in throughput. */
const AT_LEAST = 0.9;
/** Of a row with its share of the indexes and of the log, generously. */
const BYTES_PER_ROW = 1_200;
/** The sizes differ by less than the rounds of a shared machine do. */
const ROUNDS = 9;
/** A table that takes longer to fill is left out. */
const LONGEST_FILL = 15 * 60_000;

/**
 * New keys in a table that already holds many.
 *
 * @param {import('../setup/stage.mjs').Stage} stage
 * @param {import('../progress.mjs').Progress} progress
 * @returns {Promise<import('./growth-report.mjs').Section>}
 */
export async function tableSize(stage, progress) {
  /** @type {{ size: number, servers: import('../setup/server.mjs').Server[] }[]} */
  const filled = [];
  const notes = [];
  let perRow = 0;
  for (const size of SIZES) {
    const why = await whyNot(size, perRow);
    if (why !== undefined) {
      notes.push(`${named(size)} rows were left out: ${why}.`);
      continue;
    }
    const url = await stage.database.create();
    // The first server makes the tables; the one that is measured starts on the full one.
    await (await stage.start('ours', 'fastify', { databaseUrl: url })).stop();
    const start = performance.now();
    await fillKeys(url, size, (done) => {
      progress.step(`filling ${named(size)} rows: ${Math.round((done / size) * 100)} %`);
    });
    perRow = (performance.now() - start) / size;
    filled.push({ size, servers: [await stage.start('ours', 'fastify', { databaseUrl: url })] });
  }
  const rows = await interleave(
    stage,
    progress,
    KINDS.flatMap(({ job, label }) =>
      filled.map(({ size, servers }) => ({ label: `${named(size)} rows, ${label}`, servers, job })),
    ),
    ROUNDS,
  );
  const complete = filled.length === SIZES.length;
  const compared = (/** @type {number} */ kind) => {
    const [smallest, largest] = [rows[kind * SIZES.length], rows[(kind + 1) * SIZES.length - 1]];
    return complete && smallest && largest && within(largest.samples, smallest.samples);
  };
  return {
    title: 'Fresh requests on a table that already holds keys',
    rows,
    notes,
    targets: [
      {
        id: 'tenMillion/tenThousand',
        what: 'fresh at 10 million rows ÷ at 10 thousand (throughput)',
        bound: `≥ ${AT_LEAST}`,
        ...compared(0),
      },
      {
        id: 'tenMillion/tenThousand/uuidV7',
        what: 'the same with keys that are UUIDv7, as the client of this package makes them',
        bound: `≥ ${AT_LEAST}`,
        ...compared(1),
      },
    ],
  };
}

/**
 * @param {import('../sample.mjs').Sample[]} large
 * @param {import('../sample.mjs').Sample[]} small
 */
function within(large, small) {
  const value = ratio(
    large.map(({ perSecond }) => perSecond),
    small.map(({ perSecond }) => perSecond),
  );
  return { value, met: value.median >= AT_LEAST };
}

/**
 * @param {number} size
 * @param {number} perRow milliseconds that a row of the last table took
 */
async function whyNot(size, perRow) {
  const { bavail, bsize } = await statfs(tmpdir());
  if (!process.env.DATABASE_URL && bavail * bsize < size * BYTES_PER_ROW)
    return 'no room on the disk';
  return size * perRow > LONGEST_FILL ? 'filling them would take too long here' : undefined;
}

/** @param {number} size */
function named(size) {
  return size >= 1_000_000 ? `${size / 1_000_000} million` : `${size / 1_000} thousand`;
}
