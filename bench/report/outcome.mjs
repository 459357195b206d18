import os from 'node:os';
import { allAdded } from '../added.mjs';
import { nameOf } from '../measures.mjs';
import { valuesOf } from '../sample.mjs';
import { versionUnderTest } from '../setup/node-version.mjs';
import { summarize } from '../statistics.mjs';

/** @typedef {import('../statistics.mjs').Summary} Summary */

/**
 * @typedef {import('../measures.mjs').Measure & {
 *   failure?: string,
 *   values?: import('../sample.mjs').Values,
 * }} Row
 */

/**
 * Everything a run has found, as it is written to the JSON file.
 *
 * @typedef {object} Outcome
 * @property {string} command
 * @property {object} environment
 * @property {number} rounds
 * @property {Row[]} rows
 * @property {import('../added.mjs').Added[]} added by a key or a phase, over one connection
 * @property {TimedTrips} [roundTrips] milliseconds, with the store near
 * @property {TimedTrips} [farRoundTrips] with the store a millisecond away
 * @property {{ sent: number, committed: number }} transactions by the drivers' count and by PostgreSQL's
 * @property {import('../targets.mjs').Result[]} targets
 * @property {import('../open-loop.mjs').OpenLoop} [openLoop]
 */

/** @typedef {{ select: Summary, insert: Summary, update: Summary }} TimedTrips */

/**
 * @param {import('../rounds.mjs').Rounds} rounds
 * @param {{ sent: number, committed: number }} transactions
 * @param {import('../targets.mjs').Result[]} targets
 * @param {string} command
 * @param {import('../open-loop.mjs').OpenLoop} [openLoop]
 * @returns {Outcome}
 */
export function outcomeOf(rounds, transactions, targets, command, openLoop) {
  const roundTrips = timedTrips(rounds, 'ours.alone');
  const farRoundTrips = timedTrips(rounds, 'far.ours.alone');
  return {
    command,
    environment: environmentOf(rounds.stage),
    rounds: rounds.done,
    rows: rounds.measures.map((measure) => rowOf(rounds, measure)),
    added: allAdded(rounds),
    ...(roundTrips && { roundTrips }),
    ...(farRoundTrips && { farRoundTrips }),
    transactions,
    targets,
    ...(openLoop && { openLoop }),
  };
}

/**
 * @param {import('../rounds.mjs').Rounds} rounds
 * @param {string} id of the measure whose server timed them
 * @returns {TimedTrips | undefined}
 */
function timedTrips({ roundTrips }, id) {
  const timed = roundTrips.get(`fastify.${id}`);
  if (!timed) return undefined;
  const trip = (/** @type {'select' | 'insert' | 'update'} */ kind) =>
    summarize(timed.map((trips) => trips[kind]));
  return { select: trip('select'), insert: trip('insert'), update: trip('update') };
}

/** @param {import('../setup/stage.mjs').Stage} stage */
export function environmentOf({ database, redises }) {
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: `${os.cpus().length} × ${os.cpus()[0]?.model.trim()}`,
    // Above the number of processors, something else was busy too.
    loadAverage: Number(os.loadavg()[1]?.toFixed(2)),
    node: versionUnderTest(),
    postgres: `${database.version}, ${database.disk}`,
    redis: redises.redis.note,
    durableRedis: redises.durableRedis.note,
  };
}

/**
 * @param {import('../rounds.mjs').Rounds} rounds
 * @param {import('../measures.mjs').Measure} measure
 * @returns {Row}
 */
export function rowOf({ samples, failures }, measure) {
  const failure = failures.get(nameOf(measure));
  const taken = samples.get(nameOf(measure));
  if (failure !== undefined || !taken) return { ...measure, failure: failure ?? 'not measured' };
  return { ...measure, values: valuesOf(taken) };
}
