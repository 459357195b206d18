// The Redis of an environment variable, or one of our own if `redis-server` is installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {object} Redis
 * @property {string} [url]
 * @property {string} note how it runs, or why it does not
 * @property {() => Promise<void>} stop
 */

/** How Redis may keep what it is told. */
const modes = {
  /** Its fastest mode: nothing is written to the disk. */
  redis: {
    variable: 'REDIS_URL',
    note: 'redis-server, without persistence',
    settings: { appendonly: 'no' },
  },
  /** The promise of a committed transaction: on disk before it answers. */
  durableRedis: {
    variable: 'REDIS_DURABLE_URL',
    note: 'redis-server, appendfsync always',
    settings: { appendonly: 'yes', appendfsync: 'always' },
  },
};

/** @typedef {keyof typeof modes} RedisMode */

/**
 * @param {RedisMode} mode
 * @returns {Promise<Redis>}
 */
export async function provideRedis(mode) {
  const { variable } = modes[mode];
  const given = process.env[variable];
  if (!given) return start(mode);
  if (await answers(given)) return { url: given, note: `Redis of ${variable}`, stop: nothing };
  return { note: `no Redis: the one of ${variable} does not answer`, stop: nothing };
}

/**
 * @param {RedisMode} mode
 * @returns {Promise<Redis>}
 */
async function start(mode) {
  const { variable, note, settings } = modes[mode];
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const dir = await mkdtemp(join(tmpdir(), 'bench-redis-'));
  const all = { port, bind: '127.0.0.1', save: '', dir, ...settings };
  const server = spawn(
    'redis-server',
    Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  );
  let ended = false;
  server.once('error', () => (ended = true));
  server.once('exit', () => (ended = true));
  process.once('exit', () => {
    // At once: it must not write to the folder any more.
    server.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  });
  while (!ended) {
    if (await answers(url)) {
      return {
        url,
        note,
        stop: async () => {
          if (!ended) {
            server.kill();
            await once(server, 'exit');
          }
          await rm(dir, { recursive: true, force: true });
        },
      };
    }
    await delay(20);
  }
  await rm(dir, { recursive: true, force: true });
  return { note: `no Redis: set ${variable}, or install redis-server`, stop: nothing };
}

/**
 * @param {string} url
 * @returns {Promise<boolean>}
 */
function answers(url) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port || 6379), timeout: 1_000 });
    const settle = (/** @type {boolean} */ answered) => {
      socket.destroy();
      resolve(answered);
    };
    // Any reply will do: one that asks for a password comes from a living Redis too.
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
  probe.close();
  return port;
}

async function nothing() {}
