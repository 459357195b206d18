// node bench/simulate.mjs   what 1, 8 and 64 nodes carry, computed from bench/results/bench.json
//
// A model, not a measurement: one queue per node, as many servers as it has cores, and the
// costs of statements as the bench measured them. It draws no random numbers, so it prints
// the same table each time: the one of docs/scale.md, which a test compares.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { figure, table } from './report/format.mjs';

const NODES = [1, 8, 64];
/** Of a node of the database: as many as the measured machine has. */
const CORES = 2;
/** A node that is busier than this has no room for a peak, and none for a neighbour that fails. */
const BUSY = 0.6;
/** Citus makes 32 shards unless told otherwise, and each node should have a few. */
const SHARDS_PER_NODE = 4;
const LEAST_SHARDS = 32;
/** How often the jobs of one process look around in a second, by their default intervals. */
const LOOKS = 1 / 15 + 1 / 60 + 1 / 5 + 1 / 10 + 1;
/** Of a key with one foreign phase: see `node bench/sizes.mjs`. */
const BYTES = { fresh: 885, foreign: 885 + 2 * 335 };

/**
 * @typedef {object} Costs
 * @property {number} cpu of PostgreSQL for one request, in milliseconds
 * @property {number} statements of one request
 * @property {number} nodeCpu of the application's process, in milliseconds
 * @property {number} wal bytes of write-ahead log
 */

/** @param {string} label as in bench/results/bench.md, on Fastify and near the store */
function measured(label) {
  const file = new URL('results/bench.json', import.meta.url);
  const { rows } = JSON.parse(readFileSync(file, 'utf8'));
  const row = rows.find(
    (/** @type {any} */ each) => each.label === label && each.platform === 'fastify' && !each.far,
  );
  const median = (/** @type {string} */ name) => row.values[name].median;
  return {
    cpu: median('databaseCpu'),
    statements: median('statements'),
    nodeCpu: median('cpu'),
    wal: median('log'),
  };
}

/**
 * What a statement costs by itself, and what a row costs however many share a statement:
 * two measures of the same requests, with and without neighbours to share with.
 */
function perStatement() {
  const shared = measured('ours, fresh');
  const alone = measured('ours, fresh, one connection');
  const statement = (alone.cpu - shared.cpu) / (alone.statements - shared.statements);
  return { statement, row: shared.cpu - shared.statements * statement, most: alone.statements };
}

/** What passing a statement on costs: as much as one that does nothing. */
function hop() {
  const idle = measured('an interceptor that goes to PostgreSQL twice and keeps nothing');
  return idle.cpu / idle.statements;
}

/**
 * The requests of a process go to all nodes, so fewer of them share a statement; with
 * very many nodes each has its own two.
 *
 * @param {number} nodes
 * @returns {Costs}
 */
function fresh(nodes) {
  const one = measured('ours, fresh');
  const { statement, row, most } = perStatement();
  const statements = Math.min(most, one.statements * nodes);
  return { ...one, statements, cpu: row + statements * statement };
}

/**
 * A local and a foreign phase: most of its statements are in a transaction and shared with nobody.
 *
 * @returns {Costs}
 */
function foreign() {
  return measured('ours, local + foreign phase');
}

/**
 * The mean wait in an M/M/c queue (Erlang's C formula), in the unit of `service`.
 *
 * @param {number} servers
 * @param {number} busy their share of time, from 0 to 1
 * @param {number} service
 */
export function meanWait(servers, busy, service) {
  const offered = servers * busy;
  let term = 1;
  let sum = 1;
  for (let n = 1; n < servers; n++) {
    term *= offered / n;
    sum += term;
  }
  const last = (term * offered) / servers / (1 - busy);
  return ((last / (sum + last)) * service) / (servers * (1 - busy));
}

/**
 * @param {string} label
 * @param {number} nodes
 * @param {Costs} costs
 * @param {number} bytes of its rows
 */
function load(label, nodes, costs, bytes) {
  const routed = nodes > 1 ? costs.statements * hop() : 0;
  const service = costs.cpu + routed;
  // Every process looks at every shard, and the more requests, the more processes. What the
  // jobs take is left to requests no more: requests × (service + its share of jobs) = what there is.
  const shards = nodes > 1 ? Math.max(LEAST_SHARDS, SHARDS_PER_NODE * nodes) : 1;
  const look = LOOKS * shards * hop();
  const perProcess = (1_000 * BUSY) / costs.nodeCpu;
  const capacity = nodes * CORES * BUSY * 1_000;
  const requests = capacity / (service + look / perProcess);
  const processes = Math.ceil(requests / perProcess);
  return [
    `${label}, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`,
    figure(requests),
    figure(costs.statements),
    figure(service),
    figure(service + meanWait(CORES, BUSY, service)),
    `${figure(((requests / perProcess) * look * 100) / capacity)} %`,
    figure(processes),
    figure((requests * costs.wal) / nodes / 2 ** 20),
    figure((requests * 86_400 * bytes) / nodes / 2 ** 30),
  ];
}

/** The head and the rows of the table. */
export function simulate() {
  return {
    head: [
      'requests and nodes',
      'requests/s',
      'statements',
      'CPU ms',
      'time ms',
      'jobs',
      'processes',
      'WAL MiB/s a node',
      'GiB a day and node',
    ],
    rows: [
      ...NODES.map((nodes) => load('a fresh key', nodes, fresh(nodes), BYTES.fresh)),
      ...NODES.map((nodes) => load('a local and a foreign phase', nodes, foreign(), BYTES.foreign)),
    ],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { head, rows } = simulate();
  console.log(table(head, rows));
}
