// What the library promises to reach, as ratios within one run.
import { ratio, summarize } from './statistics.mjs';

/** @typedef {import('./rounds.mjs').Rounds} Rounds */

/**
 * @typedef {object} Target
 * @property {string} id
 * @property {string} what
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {(rounds: Rounds) => import('./statistics.mjs').Summary | undefined} of
 */

/** @type {Target[]} */
const targets = [
  {
    id: 'fresh/redis',
    what: 'fresh: ours ÷ @node-idempotency with Redis',
    atLeast: 1,
    of: throughputs('ours.fresh', 'redis.fresh'),
  },
  {
    id: 'fresh/handWritten',
    what: 'fresh: ours ÷ hand-written two-statement store',
    atLeast: 2.5,
    of: throughputs('ours.fresh', 'handWritten'),
  },
  {
    id: 'fresh/bare',
    what: 'fresh: ours ÷ bare route',
    atLeast: 0.55,
    of: throughputs('ours.fresh', 'bare'),
  },
  {
    id: 'replay/bare',
    what: 'replay: ours ÷ bare route',
    atLeast: 0.85,
    of: throughputs('ours.replay', 'bare'),
  },
  {
    id: 'replay/redis',
    what: 'replay: ours ÷ @node-idempotency with Redis',
    atLeast: 1.2,
    of: throughputs('ours.replay', 'redis.replay'),
  },
  {
    id: 'alone/roundTrips',
    what: 'one connection, fresh: added latency ÷ two round trips (an INSERT and an UPDATE)',
    atMost: 1.5,
    of: addedLatency,
  },
  {
    id: 'local/dbos',
    what: 'steps: local phase ÷ DBOS transaction',
    atLeast: 3,
    of: throughputs('ours.locals', 'dbos.locals'),
  },
  {
    id: 'foreign/dbos',
    what: 'steps: foreign phase ÷ DBOS step',
    atLeast: 4,
    of: throughputs('ours.foreigns', 'dbos.foreigns'),
  },
  {
    id: 'statements',
    what: 'statements per fresh request, 32 connections',
    atMost: 0.5,
    of: (rounds) => {
      const samples = rounds.samples.get('fastify.ours.fresh');
      return samples && summarize(samples.map(({ statements }) => statements));
    },
  },
];

/**
 * @typedef {object} Result
 * @property {string} id
 * @property {string} what
 * @property {string} bound
 * @property {import('./statistics.mjs').Summary} [value] absent where something could not be measured
 * @property {boolean} [met]
 */

/**
 * @param {Rounds} rounds
 * @returns {Result[]}
 */
export function checkTargets(rounds) {
  return targets.map(({ id, what, atLeast, atMost, of }) => {
    const bound = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
    const value = of(rounds);
    if (!value) return { id, what, bound };
    const met = value.median >= (atLeast ?? -Infinity) && value.median <= (atMost ?? Infinity);
    return { id, what, bound, value, met };
  });
}

/**
 * @param {string} ours
 * @param {string} theirs
 * @returns {Target['of']}
 */
function throughputs(ours, theirs) {
  return ({ samples }) => {
    const [a, b] = [samples.get(`fastify.${ours}`), samples.get(`fastify.${theirs}`)];
    return a && b && ratio(a.map(perSecond), b.map(perSecond));
  };
}

/** @type {Target['of']} */
function addedLatency({ samples, roundTrips }) {
  const [ours, bare] = [samples.get('fastify.ours.alone'), samples.get('fastify.bare.alone')];
  if (!ours || !bare) return undefined;
  const added = ours.map(({ p50 }, round) => p50 - /** @type {any} */ (bare[round]).p50);
  return ratio(
    added,
    roundTrips.map(({ insert, update }) => insert + update),
  );
}

/** @param {import('./rounds.mjs').Sample} sample */
function perSecond(sample) {
  return sample.perSecond;
}
