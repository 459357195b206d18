// What a key or a phase adds to a request: what one measure took, less what another one did.
// One connection, so that nothing is shared and every round trip is waited for.
import { summarize } from './statistics.mjs';

/** @typedef {import('./rounds.mjs').Rounds} Rounds */

/**
 * @typedef {object} Addition
 * @property {string} what
 * @property {string} of the measure with it
 * @property {string} less the measure without it
 * @property {number} [times] how often a request has it; once unless told
 */

/** @satisfies {Record<string, Addition>} */
export const additions = {
  fresh: { what: 'a fresh key', of: 'ours.alone', less: 'bare.alone' },
  phased: {
    what: 'a fresh key on a phased route',
    of: 'ours.phased.alone',
    less: 'bare.alone',
  },
  local: {
    what: 'a local phase with one statement of work',
    of: 'ours.local.alone',
    less: 'ours.phased.alone',
  },
  foreign: { what: 'a foreign phase', of: 'ours.foreign.alone', less: 'ours.phased.alone' },
  redis: {
    what: 'a fresh key of @node-idempotency with Redis',
    of: 'redis.alone',
    less: 'bare.alone',
  },
  handWritten: { what: 'a hand-written fresh key', of: 'handWritten.alone', less: 'bare.alone' },
  workflow: { what: 'a DBOS workflow without steps', of: 'dbos.alone', less: 'bare.alone' },
  transaction: {
    what: 'a DBOS transaction with one statement of work',
    of: 'dbos.locals.alone',
    less: 'dbos.alone',
    times: 5,
  },
  step: { what: 'a DBOS step', of: 'dbos.foreigns.alone', less: 'dbos.alone', times: 5 },
  farFresh: { what: 'a fresh key', of: 'far.ours.alone', less: 'bare.alone' },
  farPhased: {
    what: 'a fresh key on a phased route',
    of: 'far.ours.phased.alone',
    less: 'bare.alone',
  },
  farLocal: {
    what: 'a local phase with one statement of work',
    of: 'far.ours.local.alone',
    less: 'far.ours.phased.alone',
  },
  farForeign: {
    what: 'a foreign phase',
    of: 'far.ours.foreign.alone',
    less: 'far.ours.phased.alone',
  },
  farRedis: {
    what: 'a fresh key of @node-idempotency with Redis',
    of: 'far.redis.alone',
    less: 'bare.alone',
  },
};

/**
 * @param {Rounds} rounds
 * @param {Addition} addition
 * @param {'p50' | 'trips'} column
 * @returns {import('./statistics.mjs').Summary | undefined} over the rounds
 */
export function added(rounds, addition, column) {
  const values = differences(rounds, addition, column);
  return values && summarize(values);
}

/**
 * One for each round; undefined where something could not be measured.
 *
 * @param {Rounds} rounds
 * @param {Addition} addition
 * @param {'p50' | 'trips'} column
 */
export function differences({ samples }, { of, less, times = 1 }, column) {
  const [with_, without] = [samples.get(`fastify.${of}`), samples.get(`fastify.${less}`)];
  if (!with_ || !without) return undefined;
  return with_.map((sample, round) => {
    const base = /** @type {import('./sample.mjs').Sample} */ (without[round]);
    return (sample[column] - base[column]) / times;
  });
}

/**
 * @typedef {object} Added
 * @property {string} what
 * @property {boolean} far
 * @property {import('./statistics.mjs').Summary} trips
 * @property {import('./statistics.mjs').Summary} p50 milliseconds
 */

/**
 * @param {Rounds} rounds
 * @returns {Added[]} those that the run has measured
 */
export function allAdded(rounds) {
  return Object.values(additions).flatMap((/** @type {Addition} */ addition) => {
    const [trips, p50] = [added(rounds, addition, 'trips'), added(rounds, addition, 'p50')];
    if (!trips || !p50) return [];
    return [{ what: addition.what, far: addition.of.startsWith('far.'), trips, p50 }];
  });
}
