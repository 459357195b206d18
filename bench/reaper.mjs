// node bench/reaper.mjs [rows]   the reaper over a million expired keys while requests run
//
// The load is measured with and without the reaper by turns, and the ratio is
// taken within each turn. The last line is JSON. About three minutes, of which a third fills the table.
import { Load } from './load/load.mjs';
import { Progress } from './progress.mjs';
import { count, fill } from './reaper/keys.mjs';
import { build } from './setup/build.mjs';
import { Database } from './setup/database.mjs';
import { Server } from './setup/server.mjs';
import { ratio, summarize } from './statistics.mjs';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const YOUNG = ROWS / 20;
const CONNECTIONS = 4;
/** Of one measure, in milliseconds. */
const TURN = 4_000;
/** Then the reaper goes on under load to the end. */
const MOST_TURNS = 10;
/** A slow machine is not waited for beyond this; the report then says how many rows are left. */
const LONGEST_RUN = 240_000;

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const progress = new Progress();
progress.say('compiling; starting PostgreSQL');
const [database] = await Promise.all([Database.start(), build(['root'])]);
const load = new Load();
/** @type {Server | undefined} */
let server;
try {
  const url = await database.create();
  server = await Server.start(
    { place: 'root', file: 'reaping' },
    { platform: 'fastify', databaseUrl: url },
  );
  const toRemove = await fill(url, { expired: ROWS, young: YOUNG }, (done) =>
    progress.step(`filling: ${done} rows`),
  );
  await measure(1_000);

  /** @type {{ without: Measure, with: Measure, removed: number, seconds: number }[]} */
  const turns = [];
  const begun = performance.now();
  let removed = 0;
  while (removed < toRemove && turns.length < MOST_TURNS) {
    progress.step(`turn ${turns.length + 1}: ${removed} rows removed`);
    const without = await measure(TURN);
    await server.ask('reap', true);
    const started = performance.now();
    const withReaper = await measure(TURN);
    const seconds = (performance.now() - started) / 1_000;
    const { handled, failures, lastError } = await server.ask('reaped');
    await server.ask('reap', false);
    if (failures > 0) throw new Error(`The reaper failed: ${lastError}`);
    turns.push({ without, with: withReaper, removed: handled - removed, seconds });
    removed = (await server.ask('reaped')).handled;
  }
  await server.ask('reap', true);
  while (removed < toRemove && performance.now() - begun < LONGEST_RUN) {
    progress.step(`the rest: ${removed} rows removed`);
    await measure(TURN);
    removed = (await server.ask('reaped')).handled;
  }
  await server.ask('reap', false);
  progress.end();
  // In the last turn there may have been nothing left to do for a part of it.
  const whole = removed < toRemove || turns.length === MOST_TURNS ? turns : turns.slice(0, -1);
  report(whole.length > 0 ? whole : turns, await count(url), toRemove);
} finally {
  await load.stop();
  await server?.stop();
  await database.stop();
}

/** @typedef {import('./load/generator.mjs').Result} Measure */

/**
 * @param {number} duration
 * @returns {Promise<Measure>}
 */
function measure(duration) {
  const { port } = /** @type {Server} */ (server);
  return load.run({
    kind: 'load',
    ports: [port],
    path: '/payments',
    connections: CONNECTIONS,
    duration,
  });
}

/**
 * @param {{ without: Measure, with: Measure, removed: number, seconds: number }[]} turns
 * @param {{ expired: number, young: number, unknown: number, live: number }} left
 * @param {number} toRemove
 */
function report(turns, left, toRemove) {
  const compare = (/** @type {'p50' | 'p99' | 'perSecond'} */ what) =>
    ratio(
      turns.map((turn) => turn.with[what]),
      turns.map((turn) => turn.without[what]),
    );
  const tooEarly = YOUNG - left.young + (ROWS - toRemove - left.unknown);
  const result = {
    rows: ROWS,
    removed: toRemove - left.expired,
    tooEarly,
    rowsPerSecond: summarize(turns.map(({ removed, seconds }) => removed / seconds)),
    liveRequests: left.live,
    requestsPerSecond: summarize(turns.map((turn) => turn.without.perSecond)),
    p99WithoutReaper: summarize(turns.map((turn) => turn.without.p99)),
    p99WithReaper: summarize(turns.map((turn) => turn.with.p99)),
    ratios: { p50: compare('p50'), p99: compare('p99'), perSecond: compare('perSecond') },
  };
  const { ratios } = result;
  const lines = [
    ['expired keys removed', `${result.removed} of ${toRemove}`],
    ['keys removed too early', String(tooEarly)],
    ['rows per second', shown(result.rowsPerSecond)],
    [
      `requests per second without the reaper (${CONNECTIONS} connections)`,
      shown(result.requestsPerSecond),
    ],
    ['p99 without the reaper, ms', shown(result.p99WithoutReaper)],
    ['p99 with the reaper, ms', shown(result.p99WithReaper)],
    ['p99 with ÷ without', shown(ratios.p99)],
    ['p50 with ÷ without', shown(ratios.p50)],
    ['requests per second with ÷ without', shown(ratios.perSecond)],
  ];
  console.log(
    `| reaper over ${ROWS} rows, ${turns.length} turns | median (lowest – highest) |\n| --- | --- |`,
  );
  for (const [what, value] of lines) console.log(`| ${what} | ${value} |`);
  console.log(JSON.stringify(result));
  if (tooEarly !== 0) process.exitCode = 1;
}

/** @param {import('./statistics.mjs').Summary} summary */
function shown({ median, min, max }) {
  return `${figure(median)} (${figure(min)} – ${figure(max)})`;
}

/** @param {number} value */
function figure(value) {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
