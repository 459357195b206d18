// PgBouncer in transaction mode, in front of one server. Debian: the package `pgbouncer`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const PROGRAM = ['/usr/sbin', '/usr/bin', ...(process.env.PATH ?? '').split(':')]
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path));

export const hasPgBouncer = PROGRAM !== undefined;

/**
 * @param {string} serverUrl
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function startPgBouncer(serverUrl) {
  const { port, username, password } = new URL(serverUrl);
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  // It refuses to run as root, and reads its files as the user that it becomes.
  await chmod(folder, 0o755);
  const own = await freePort();
  await writeFile(join(folder, 'users.txt'), `"${username}" "${password}"\n`);
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `* = host=127.0.0.1 port=${port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'pool_mode = transaction',
      'auth_type = scram-sha-256',
      `auth_file = ${join(folder, 'users.txt')}`,
      'max_client_conn = 2000',
      'default_pool_size = 30',
      'ignore_startup_parameters = extra_float_digits',
    ].join('\n'),
  );
  const asRoot = process.getuid?.() === 0;
  const child = spawn(PROGRAM ?? 'pgbouncer', [
    '-q',
    ...(asRoot ? ['-u', 'postgres'] : []),
    join(folder, 'pgbouncer.ini'),
  ]);
  let output = '';
  child.stderr.on('data', (chunk) => (output = (output + chunk).slice(-4_000)));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  for (let tries = 0; !(await answers(own)); tries++) {
    if (tries === 100 || child.exitCode !== null) {
      child.kill('SIGKILL');
      throw new Error(`PgBouncer did not start:\n${output}`);
    }
    await delay(50);
  }
  const url = new URL(serverUrl);
  url.port = String(own);
  return {
    url: url.href,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}
