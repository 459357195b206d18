// What the library promises to reach, as ratios within one run.
import { added, additions } from './added.mjs';
import { ratio, ratios, summarize } from './statistics.mjs';

/** @typedef {import('./rounds.mjs').Rounds} Rounds */
/** @typedef {import('./sample.mjs').Sample} Sample */
/** @typedef {import('./statistics.mjs').Summary} Summary */

/**
 * How a target is measured.
 *
 * @typedef {object} Quantity
 * @property {string[]} needs the measures on Fastify that it is made of
 * @property {(rounds: Rounds) => Summary | undefined} of
 *
 * @typedef {{ id: string, what: string, atLeast?: number, atMost?: number } & Quantity} Target
 */

const redis = '@node-idempotency with Redis';

/** @type {Target[]} */
const targets = [
  {
    id: 'fresh/redis',
    what: `fresh: ours ÷ ${redis}`,
    atLeast: 0.9,
    ...quotient('perSecond', 'ours.fresh', 'redis.fresh'),
  },
  {
    id: 'fresh/redis/128',
    what: `fresh, 128 connections: ours ÷ ${redis}`,
    atLeast: 1,
    ...quotient('perSecond', 'ours.crowded', 'redis.crowded'),
  },
  {
    id: 'fresh/durableRedis',
    what: `fresh: ours ÷ ${redis}, appendfsync always`,
    atLeast: 1.1,
    ...quotient('perSecond', 'ours.fresh', 'durableRedis.fresh'),
  },
  {
    id: 'fresh/trips',
    what: 'fresh: ours ÷ an interceptor that goes to PostgreSQL twice and keeps nothing',
    atLeast: 0.7,
    ...quotient('perSecond', 'ours.fresh', 'trips'),
  },
  {
    id: 'fresh/handWritten',
    what: 'fresh: ours ÷ hand-written two-statement store',
    atLeast: 2.5,
    ...quotient('perSecond', 'ours.fresh', 'handWritten'),
  },
  {
    id: 'fresh/bare',
    what: 'fresh: ours ÷ bare route',
    atLeast: 0.55,
    ...quotient('perSecond', 'ours.fresh', 'bare'),
  },
  {
    id: 'cpu/bare',
    what: 'CPU of Node for a fresh request: ours ÷ bare route',
    atMost: 1.6,
    ...quotient('cpu', 'ours.fresh', 'bare'),
  },
  {
    id: 'replay/bare',
    what: 'replay: ours ÷ bare route',
    atLeast: 0.85,
    ...quotient('perSecond', 'ours.replay', 'bare'),
  },
  {
    id: 'replay/redis',
    what: `replay: ours ÷ ${redis}`,
    atLeast: 1.3,
    ...quotient('perSecond', 'ours.replay', 'redis.replay'),
  },
  {
    id: 'trips/fresh',
    what: 'sequential round trips that a fresh key adds',
    atMost: 2,
    ...roundTrips(additions.fresh),
  },
  {
    id: 'trips/local',
    what: 'sequential round trips that a local phase with one statement of work adds',
    atMost: 2,
    ...roundTrips(additions.local),
  },
  {
    id: 'trips/foreign',
    what: 'sequential round trips that a foreign phase adds',
    atMost: 2,
    ...roundTrips(additions.foreign),
  },
  {
    id: 'alone/roundTrips',
    what: 'one connection, fresh: added latency ÷ two round trips (an INSERT and an UPDATE)',
    atMost: 1.5,
    needs: ['ours.alone', 'bare.alone'],
    of: latencyInTrips,
  },
  {
    id: 'far/fresh',
    what: '1 ms to the store: milliseconds that a fresh key adds',
    atMost: 2.5,
    ...latency(additions.farFresh),
  },
  {
    id: 'far/local',
    what: '1 ms to the store: milliseconds that a local phase adds',
    atMost: 2.5,
    ...latency(additions.farLocal),
  },
  {
    id: 'local/dbos',
    what: 'steps: local phase ÷ DBOS transaction',
    atLeast: 5,
    ...quotient('perSecond', 'ours.locals', 'dbos.locals'),
  },
  {
    id: 'foreign/dbos',
    what: 'steps: foreign phase ÷ DBOS step',
    atLeast: 6,
    ...quotient('perSecond', 'ours.foreigns', 'dbos.foreigns'),
  },
  {
    id: 'statements',
    what: 'statements per fresh request, 32 connections',
    atMost: 0.5,
    needs: ['ours.fresh'],
    of: ({ samples }) => {
      const taken = samples.get('fastify.ours.fresh');
      return taken && summarize(taken.map(({ statements }) => statements));
    },
  },
];

/** @param {string} id */
export function targetOf(id) {
  const target = targets.find((each) => each.id === id);
  if (!target) throw new Error(`There is no target ${id}.`);
  return { ...target, bound: boundOf(target) };
}

/** @param {Target} target */
function boundOf({ atLeast, atMost }) {
  return atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
}

/**
 * @typedef {object} Result
 * @property {string} id
 * @property {string} what
 * @property {string} bound
 * @property {Summary} [value] absent where something could not be measured
 * @property {boolean} [met]
 */

/**
 * @param {Rounds} rounds
 * @returns {Result[]} of the targets that the run is about
 */
export function checkTargets(rounds) {
  const measured = new Set(rounds.measures.map(({ id }) => id));
  const checked = targets.filter(({ needs }) => needs.every((id) => measured.has(id)));
  return checked.map((target) => {
    const { id, what, atLeast, atMost, of } = target;
    const bound = boundOf(target);
    const value = of(rounds);
    if (!value) return { id, what, bound };
    const met = value.median >= (atLeast ?? -Infinity) && value.median <= (atMost ?? Infinity);
    return { id, what, bound, value, met };
  });
}

/**
 * @param {'perSecond' | 'cpu'} column
 * @param {string} ours
 * @param {string} theirs
 * @returns {Quantity}
 */
function quotient(column, ours, theirs) {
  return {
    needs: [ours, theirs],
    of: (rounds) => {
      const found = quotients(rounds, column, ours, theirs);
      return found && summarize(found);
    },
  };
}

/**
 * One for each round; undefined where something could not be measured.
 *
 * @param {Rounds} rounds
 * @param {'perSecond' | 'cpu'} column
 * @param {string} dividend a measure on Fastify
 * @param {string} divisor a measure on Fastify
 */
export function quotients({ samples }, column, dividend, divisor) {
  const values = (/** @type {Sample[]} */ taken) => taken.map((sample) => sample[column]);
  const [a, b] = [samples.get(`fastify.${dividend}`), samples.get(`fastify.${divisor}`)];
  return a && b && ratios(values(a), values(b));
}

/**
 * @param {import('./added.mjs').Addition} addition
 * @returns {Quantity}
 */
function latency(addition) {
  return {
    needs: [addition.of, addition.less],
    of: (rounds) => added(rounds, addition, 'p50'),
  };
}

/**
 * To a tenth: a new connection and background jobs make a few trips of their own.
 *
 * @param {import('./added.mjs').Addition} addition
 * @returns {Quantity}
 */
function roundTrips(addition) {
  const tenth = (/** @type {number} */ value) => Math.round(value * 10) / 10;
  return {
    needs: [addition.of, addition.less],
    of: (rounds) => {
      const value = added(rounds, addition, 'trips');
      return value && { median: tenth(value.median), min: tenth(value.min), max: tenth(value.max) };
    },
  };
}

/** @param {Rounds} rounds */
function latencyInTrips({ samples, roundTrips: trips }) {
  const [ours, bare] = [samples.get('fastify.ours.alone'), samples.get('fastify.bare.alone')];
  const timed = trips.get('fastify.ours.alone');
  if (!ours || !bare || !timed) return undefined;
  return ratio(
    ours.map(({ p50 }, round) => p50 - /** @type {any} */ (bare[round]).p50),
    timed.map(({ insert, update }) => insert + update),
  );
}
