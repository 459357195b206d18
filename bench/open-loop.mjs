import { Progress } from './progress.mjs';
import { openLoopMarkdown } from './report/open-loop.mjs';
import { environment } from './report/markdown.mjs';
import { environmentOf } from './report/outcome.mjs';
import { Stage } from './setup/stage.mjs';
import { quantile, summarize } from './statistics.mjs';

/** Of the capacity of the slowest one with a key. */
const SHARES = [0.25, 0.5, 0.75];
const ROUNDS = 3;
/** Of one rate of one contender in one round, in milliseconds. */
const WINDOW = 2_000;
/** Of one look at the capacity. */
const CAPACITY_WINDOW = 500;
const WARM_UP = 800;
/** That are answered at a time at most; further requests wait, and their latency grows meanwhile. */
const CONNECTIONS = 128;

const peer = '@node-idempotency with Redis';

/** @type {{ contender: import('./contenders.mjs').ContenderName, label: string }[]} */
export const paced = [
  { contender: 'bare', label: 'bare Nest route' },
  { contender: 'ours', label: 'ours, fresh' },
  { contender: 'redisPeer', label: `${peer}, fresh` },
  { contender: 'durableRedisPeer', label: `${peer}, appendfsync always, fresh` },
];

/**
 * @typedef {object} Percentiles milliseconds
 * @property {number} p50
 * @property {number} p99
 * @property {number} p999
 *
 * @typedef {object} Rate
 * @property {number} share of the capacity
 * @property {number} perSecond requests
 * @property {{ label: string, requests: number, latency: Percentiles, added?: Percentiles }[]} rows
 *   what is added over the bare route, except for that route itself
 *
 * @typedef {object} OpenLoop
 * @property {{ label: string, perSecond: import('./statistics.mjs').Summary }[]} capacities
 * @property {Rate[]} rates
 * @property {string[]} missing who could not take part, and why
 */

/** @typedef {{ label: string, server: import('./setup/server.mjs').Server }} Runner */

/** By itself: `npm run bench -- --open-loop`. */
export async function openLoopAlone() {
  const progress = new Progress();
  const names = paced.map(({ contender }) => contender);
  const stage = await Stage.set(names, (line) => progress.say(line));
  try {
    const found = await openLoop(stage, progress);
    progress.end();
    console.log(`${environment(environmentOf(stage))}\n\n${openLoopMarkdown(found)}\n`);
    console.log(JSON.stringify(found));
  } finally {
    await stage.strike();
  }
}

/**
 * At the end of a long run, whose other results must not be lost with it.
 *
 * @param {Stage} stage
 * @param {Progress} progress
 * @returns {Promise<OpenLoop>}
 */
export function openLoopOrWhyNot(stage, progress) {
  return openLoop(stage, progress).catch((/** @type {Error} */ { message }) => ({
    capacities: [],
    rates: [],
    missing: [`Not measured: ${message}`],
  }));
}

/**
 * Latency at fixed rates, which is what users of a server that is not overloaded meet.
 *
 * @param {Stage} stage
 * @param {Progress} progress
 * @returns {Promise<OpenLoop>}
 */
export async function openLoop(stage, progress) {
  /** @type {Runner[]} */
  const runners = [];
  const missing = [];
  for (const { contender, label } of paced) {
    const server = await stage.server(contender, 'fastify');
    if (server) runners.push({ label, server });
    else missing.push(`${label}: ${stage.missing(contender)}`);
  }
  const capacities = await measureCapacities(stage, progress, runners);
  const [, ...keyed] = capacities;
  const capacity = Math.min(...keyed.map(({ perSecond }) => perSecond.median));
  const rates = SHARES.map((share) => ({ share, perSecond: share * capacity }));
  const latencies = await measureLatencies(stage, progress, runners, rates);
  return {
    capacities,
    rates: rates.map((rate) => rateOf(rate, runners, latencies)),
    missing,
  };
}

/**
 * @param {Stage} stage
 * @param {Progress} progress
 * @param {Runner[]} runners
 */
async function measureCapacities(stage, progress, runners) {
  const job = /** @type {const} */ ({ kind: 'load', path: '/payments', connections: 32 });
  const found = runners.map(({ label }) => ({ label, all: /** @type {number[]} */ ([]) }));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { label, server }] of runners.entries()) {
      progress.step(`open loop, capacity: ${label}`);
      const duration = round === 0 ? WARM_UP : CAPACITY_WINDOW;
      const { perSecond } = await stage.load.run({ ...job, duration, ports: [server.port] });
      if (round > 0) found[index]?.all.push(perSecond);
    }
  }
  return found.map(({ label, all }) => ({ label, perSecond: summarize(all) }));
}

/**
 * Those of all rounds together: one round alone has too few for its 99.9th percentile.
 *
 * @param {Stage} stage
 * @param {Progress} progress
 * @param {Runner[]} runners
 * @param {{ perSecond: number }[]} rates
 */
async function measureLatencies(stage, progress, runners, rates) {
  /** @type {Map<string, number[]>} */
  const latencies = new Map();
  for (let round = 1; round <= ROUNDS; round++) {
    // Every other round backwards, as elsewhere.
    const order = round % 2 === 1 ? runners : runners.toReversed();
    for (const { perSecond } of rates) {
      for (const { label, server } of order) {
        progress.step(`open loop, round ${round} of ${ROUNDS}: ${label}`);
        const { latencies: taken = [] } = await stage.load.run({
          kind: 'paced',
          path: '/payments',
          connections: CONNECTIONS,
          duration: WINDOW,
          rate: perSecond,
          ports: [server.port],
        });
        const name = `${label} ${perSecond}`;
        latencies.set(name, [...(latencies.get(name) ?? []), ...taken]);
      }
    }
  }
  return latencies;
}

/**
 * @param {{ share: number, perSecond: number }} rate
 * @param {Runner[]} runners
 * @param {Map<string, number[]>} latencies
 * @returns {Rate}
 */
function rateOf({ share, perSecond }, runners, latencies) {
  const rows = runners.map(({ label }) => {
    const sorted = Float64Array.from(latencies.get(`${label} ${perSecond}`) ?? []).sort();
    return { label, requests: sorted.length, latency: percentiles((q) => quantile(sorted, q)) };
  });
  const [bare] = rows;
  return {
    share,
    perSecond,
    rows: rows.map((row) => (row === bare || !bare ? row : { ...row, added: over(row, bare) })),
  };
}

/**
 * @param {{ latency: Percentiles }} row
 * @param {{ latency: Percentiles }} bare
 * @returns {Percentiles}
 */
function over({ latency }, { latency: base }) {
  return {
    p50: latency.p50 - base.p50,
    p99: latency.p99 - base.p99,
    p999: latency.p999 - base.p999,
  };
}

/**
 * @param {(q: number) => number} at
 * @returns {Percentiles}
 */
function percentiles(at) {
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
