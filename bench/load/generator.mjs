// The load, in a process of its own. Each answer is checked: a server that fails
// fast, or runs a handler again instead of replaying, must not look quick.
import { open, RAMP, send, summary } from './connections.mjs';
import { paced } from './paced.mjs';
import { freshKey, requestsTo, timeOrderedKey } from './requests.mjs';

/** How many keys are replayed in turn, unless a job says otherwise. */
const REPLAYED_KEYS = 500;

/**
 * @typedef {object} Job
 * @property {'load' | 'finish' | 'burst' | 'paced'} kind
 * @property {number[]} ports the connections are spread over them
 * @property {string} path
 * @property {number} connections
 * @property {number} duration milliseconds
 * @property {number} [rate] requests per second that `paced` sends
 * @property {boolean} [replay] send the keys that `finish` has finished, again and again
 * @property {number} [replayedKeys] how many keys `finish` finishes
 * @property {number} [noteSize] bytes to add to the body
 * @property {boolean} [timeOrdered] the keys of `load` are UUIDv7
 */

/**
 * @typedef {object} Result
 * @property {number} total answers, the uncounted ones included
 * @property {number} perSecond
 * @property {number} p50 milliseconds
 * @property {number} p99 milliseconds
 * @property {number} [cpu] milliseconds that the load itself took
 * @property {number[]} [latencies] of `paced`, in milliseconds
 */

const kinds = { load, finish, burst, paced };

/** @type {Map<string, Map<string, Buffer>>} by server, the finished keys and their answers */
const finished = new Map();

process.on('message', (/** @type {Job} */ job) => void run(job));
process.once('disconnect', () => process.exit());

/** @param {Job} job */
async function run(job) {
  try {
    process.send?.({ result: await kinds[job.kind](job) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * Each connection sends its next request when the last one is answered.
 *
 * @param {Job} job
 * @returns {Promise<Result>}
 */
async function load(job) {
  const connections = await open(job);
  try {
    const request = requestsTo(job.path, job.noteSize);
    const known = job.replay ? finished.get(serverOf(job)) : undefined;
    const keys = known && [...known.keys()];
    const newKey = job.timeOrdered ? timeOrderedKey : freshKey;
    /** @type {number[]} */
    const latencies = [];
    let total = 0;
    let counted = 0;
    const from = performance.now() + RAMP;
    const until = from + job.duration;
    const drive = async (
      /** @type {import('./http-connection.mjs').HttpConnection} */ connection,
    ) => {
      while (performance.now() < until) {
        const key = keys ? /** @type {string} */ (keys[total % keys.length]) : newKey();
        const sent = performance.now();
        const body = await send(connection, request(key));
        const answered = performance.now();
        if (known && !known.get(key)?.equals(body)) throw new Error('A replay differs.');
        total += 1;
        if (answered < from) continue;
        latencies.push(answered - sent);
        // A request on the edge counts for the part of it that lies inside: with slow
        // requests, whole ones would make the result jump with the window's length.
        counted += (Math.min(answered, until) - Math.max(sent, from)) / (answered - sent);
      }
    };
    const before = process.cpuUsage();
    await Promise.all(connections.map(drive));
    const { user, system } = process.cpuUsage(before);
    return {
      total,
      perSecond: (counted / job.duration) * 1_000,
      ...summary(latencies),
      cpu: (user + system) / 1_000,
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

/**
 * The same new key on all connections at once, over and over. Latencies are those
 * of whole bursts.
 *
 * @param {Job} job
 * @returns {Promise<Result>}
 */
async function burst(job) {
  const connections = await open(job);
  try {
    const request = requestsTo(job.path, job.noteSize);
    /** @type {number[]} */
    const latencies = [];
    const start = performance.now();
    while (performance.now() - start < job.duration) {
      const message = request(freshKey());
      const sent = performance.now();
      const bodies = await Promise.all(connections.map((each) => send(each, message)));
      latencies.push(performance.now() - sent);
      if (bodies.some((body) => !body.equals(/** @type {Buffer} */ (bodies[0])))) {
        throw new Error('Duplicates got different answers.');
      }
    }
    const total = latencies.length * connections.length;
    const seconds = (performance.now() - start) / 1_000;
    return { total, perSecond: total / seconds, ...summary(latencies) };
  } finally {
    for (const connection of connections) connection.close();
  }
}

/**
 * Makes finished keys, with the answers that their replays must equal.
 *
 * @param {Job} job
 * @returns {Promise<void>}
 */
async function finish(job) {
  const connections = await open(job);
  /** @type {Map<string, Buffer>} */
  const known = new Map();
  const request = requestsTo(job.path, job.noteSize);
  let left = job.replayedKeys ?? REPLAYED_KEYS;
  const drive = async (
    /** @type {import('./http-connection.mjs').HttpConnection} */ connection,
  ) => {
    while (left-- > 0) {
      const key = freshKey();
      known.set(key, await send(connection, request(key)));
    }
  };
  await Promise.all(connections.map(drive));
  for (const connection of connections) connection.close();
  finished.set(serverOf(job), known);
}

/** @param {Job} job */
function serverOf({ ports, path }) {
  return `${ports.join()}${path}`;
}
