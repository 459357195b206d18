import os from 'node:os';
import { nameOf } from '../measures.mjs';
import { valuesOf } from '../sample.mjs';
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
 * @property {{ select: Summary, insert: Summary, update: Summary }} roundTrips milliseconds
 * @property {{ sent: number, committed: number }} transactions by the drivers' count and by PostgreSQL's
 * @property {import('../targets.mjs').Result[]} targets
 */

/**
 * @param {import('../rounds.mjs').Rounds} rounds
 * @param {{ sent: number, committed: number }} transactions
 * @param {import('../targets.mjs').Result[]} targets
 * @param {string} command
 * @returns {Outcome}
 */
export function outcomeOf(rounds, transactions, targets, command) {
  const trip = (/** @type {'select' | 'insert' | 'update'} */ kind) =>
    summarize(rounds.roundTrips.map((trips) => trips[kind]));
  return {
    command,
    environment: environmentOf(rounds.stage),
    rounds: rounds.done,
    rows: rounds.measures.map((measure) => rowOf(rounds, measure)),
    roundTrips: { select: trip('select'), insert: trip('insert'), update: trip('update') },
    transactions,
    targets,
  };
}

/** @param {import('../setup/stage.mjs').Stage} stage */
export function environmentOf({ database, redis }) {
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: `${os.cpus().length} × ${os.cpus()[0]?.model.trim()}`,
    // Above the number of processors, something else was busy too.
    loadAverage: Number(os.loadavg()[1]?.toFixed(2)),
    node: process.version,
    postgres: `${database.version}, fsync on`,
    redis: redis.note,
  };
}

/**
 * @param {import('../rounds.mjs').Rounds} rounds
 * @param {import('../measures.mjs').Measure} measure
 * @returns {Row}
 */
function rowOf({ samples, failures }, measure) {
  const failure = failures.get(nameOf(measure));
  const taken = samples.get(nameOf(measure));
  if (failure !== undefined || !taken) return { ...measure, failure: failure ?? 'not measured' };
  return { ...measure, values: valuesOf(taken) };
}
