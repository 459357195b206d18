import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { buildFolder } from './build.mjs';
import { nodeUnderTest } from './node-version.mjs';
import { youngGeneration } from './young-generation.mjs';

/**
 * @typedef {object} Usage what a server has used since it started
 * @property {number} cpu milliseconds
 * @property {number} statements
 * @property {number} transactions
 * @property {number} trips to the store and back
 */

/**
 * A server that waits for its turn would be taken for an idle one: V8 would collect what it can to
 * save memory, and throw away the optimised code that depends on it. A server at work never waits so
 * long. And V8 may decide once, by what a process happened to do in its first seconds, that requests
 * live long, which makes each minor collection slower for good: two processes of one contender would
 * differ by half. See "Garbage collection" in the README.
 */
const AT_WORK = ['--no-memory-reducer', '--no-allocation-site-pretenuring'];

/** A server under test, in a process of its own. */
export class Server {
  #questions = 0;
  /** @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
  #open = new Map();

  /**
   * @param {import('node:child_process').ChildProcess} child
   * @param {number} port
   * @param {boolean} usesDatabase
   */
  constructor(child, port, usesDatabase) {
    this.child = child;
    this.port = port;
    this.usesDatabase = usesDatabase;
    child.on('message', (/** @type {any} */ { id, answer, error }) => {
      const asked = this.#open.get(id);
      this.#open.delete(id);
      if (error === undefined) asked?.resolve(answer);
      else asked?.reject(new Error(error));
    });
    child.once('exit', () => {
      for (const { reject } of this.#open.values()) reject(new Error('A server under test died.'));
    });
  }

  /**
   * @param {import('../contenders.mjs').Contender} contender
   * @param {object} options
   * @param {import('../contenders.mjs').Platform} options.platform
   * @param {string} [options.databaseUrl]
   * @param {string} [options.redisUrl]
   * @param {string[]} [options.execArgv]
   */
  static async start(
    { place, file, telemetry, encrypted, limits },
    { platform, databaseUrl, redisUrl, execArgv = [] },
  ) {
    const child = fork(join(buildFolder(place), 'contenders', `${file}.js`), {
      execPath: nodeUnderTest(),
      execArgv: [...AT_WORK, ...youngGeneration(), ...execArgv],
      env: {
        ...process.env,
        NODE_ENV: 'production',
        BENCH_PLATFORM: platform,
        BENCH_DATABASE_URL: databaseUrl ?? '',
        BENCH_REDIS_URL: redisUrl ?? '',
        BENCH_TELEMETRY: telemetry ?? '',
        BENCH_ENCRYPTED: encrypted ? 'yes' : '',
        BENCH_LIMITS: limits ?? '',
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const died = once(child, 'exit').then(() => {
      throw new Error(`The server of ${file} on ${platform} did not start.`);
    });
    const [{ port }] = await Promise.race([once(child, 'message'), died]);
    died.catch(() => undefined);
    return new Server(child, port, databaseUrl !== undefined);
  }

  /**
   * @param {string} question
   * @param {unknown} [argument]
   * @returns {Promise<any>}
   */
  ask(question, argument) {
    const id = ++this.#questions;
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.child.send({ id, question, argument }, (error) => {
        if (error) reject(error);
      });
    });
  }

  /** @returns {Promise<Usage>} */
  async usage() {
    const { user, system } = await this.ask('cpu');
    const trips = await this.ask('trips');
    const sent = this.usesDatabase ? await this.ask('traffic') : {};
    return { cpu: (user + system) / 1_000, trips, statements: 0, transactions: 0, ...sent };
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }
}
