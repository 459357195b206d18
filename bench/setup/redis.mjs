// The Redis of REDIS_URL, or one of our own if `redis-server` is installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {object} Redis
 * @property {string} [url]
 * @property {string} note how it runs, or why it does not
 * @property {() => Promise<void>} stop
 */

/** @returns {Promise<Redis>} */
export async function provideRedis() {
  const given = process.env.REDIS_URL;
  if (given) {
    if (await answers(given)) return { url: given, note: 'Redis of REDIS_URL', stop: nothing };
    return { note: 'no Redis: the one of REDIS_URL does not answer', stop: nothing };
  }
  return start();
}

/** @returns {Promise<Redis>} */
async function start() {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  // In its fastest mode: nothing is written to the disk.
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: tmpdir() };
  const server = spawn(
    'redis-server',
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  );
  let ended = false;
  server.once('error', () => (ended = true));
  server.once('exit', () => (ended = true));
  process.once('exit', () => server.kill());
  while (!ended) {
    if (await answers(url)) {
      return {
        url,
        note: 'redis-server, without persistence',
        stop: async () => {
          if (ended) return;
          server.kill();
          await once(server, 'exit');
        },
      };
    }
    await delay(20);
  }
  return {
    note: 'no Redis: set REDIS_URL, or install redis-server',
    stop: nothing,
  };
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
