import { cpus } from 'node:os';
import { summarize } from './statistics.mjs';

/** @typedef {import('./setup/server.mjs').Server} Server */

/**
 * @typedef {object} Sample all but the first four are per request
 * @property {number} perSecond requests
 * @property {number} p50 milliseconds
 * @property {number} p99 milliseconds
 * @property {number} busy the share of all cores that anybody used, the system included
 * @property {number} cpu milliseconds of the Node processes
 * @property {number} databaseCpu milliseconds of PostgreSQL; NaN where it is on another machine
 * @property {number} loadCpu milliseconds of the load generator
 * @property {number} statements
 * @property {number} transactions
 * @property {number} trips to the store and back, shared ones in part
 * @property {number} log bytes that PostgreSQL wrote ahead
 *
 * @typedef {Record<keyof Sample, import('./statistics.mjs').Summary>} Values over all rounds
 */

/**
 * Runs one job against the servers, and looks at what it cost them and the database.
 *
 * @param {import('./setup/stage.mjs').Stage} stage
 * @param {Server[]} servers
 * @param {Omit<import('./load/generator.mjs').Job, 'ports'>} job
 * @returns {Promise<Sample>}
 */
export async function takeSample({ database, load }, servers, job) {
  const before = await usageOf(servers);
  const logBefore = await database.writtenLog();
  const databaseBefore = await database.cpu();
  const ports = servers.map(({ port }) => port);
  const coresBefore = coreTimes();
  const { total, perSecond, p50, p99, cpu = NaN } = await load.run({ ...job, ports });
  const coresAfter = coreTimes();
  const databaseAfter = await database.cpu();
  const logAfter = await database.writtenLog();
  const after = await usageOf(servers);
  const usesDatabase = servers.some((server) => server.usesDatabase);
  return {
    perSecond,
    p50,
    p99,
    busy: 1 - (coresAfter.idle - coresBefore.idle) / (coresAfter.all - coresBefore.all),
    cpu: (after.cpu - before.cpu) / total,
    databaseCpu: usesDatabase ? (databaseAfter - databaseBefore) / total : 0,
    loadCpu: cpu / total,
    statements: (after.statements - before.statements) / total,
    transactions: (after.transactions - before.transactions) / total,
    trips: (after.trips - before.trips) / total,
    log: usesDatabase ? (logAfter - logBefore) / total : 0,
  };
}

function coreTimes() {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    for (const time of Object.values(times)) sum.all += time;
  }
  return sum;
}

/**
 * @param {Server[]} servers
 * @returns {Promise<import('./setup/server.mjs').Usage>}
 */
async function usageOf(servers) {
  const sum = { cpu: 0, statements: 0, transactions: 0, trips: 0 };
  for (const server of servers) {
    const { cpu, statements, transactions, trips } = await server.usage();
    sum.cpu += cpu;
    sum.statements += statements;
    sum.transactions += transactions;
    sum.trips += trips;
  }
  return sum;
}

/**
 * @param {Sample[]} samples
 * @returns {Values}
 */
export function valuesOf(samples) {
  const columns = /** @type {(keyof Sample)[]} */ (Object.keys(samples[0] ?? {}));
  const values = columns.map((column) => [
    column,
    summarize(samples.map((sample) => sample[column])),
  ]);
  return Object.fromEntries(values);
}
