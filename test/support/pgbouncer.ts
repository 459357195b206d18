import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithThisProcess } from './end-with-this-process.js';
import { until } from './until.js';

/** Debian installs it where not every PATH looks. */
const PROGRAM = ['/usr/sbin', ...(process.env.PATH ?? '').split(':')]
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path));

/** False: there is no PgBouncer, and a line has said what is not tested. */
export function hasPgBouncer(what: string): boolean {
  if (PROGRAM) return true;
  process.stderr.write(
    `${what} is not tested behind PgBouncer: it is missing. Install it (Debian: pgbouncer).\n`,
  );
  return false;
}

export interface PgBouncer {
  /** The same address, behind the proxy. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** Pools transactions: two in a row of one client may be on two connections of the server. */
export async function startPgBouncer(url: string, users: readonly string[]): Promise<PgBouncer> {
  const { hostname, port: serverPort, password } = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  const port = await freePort();
  const list = users.map((user) => `"${user}" "${decodeURIComponent(password)}"`).join('\n');
  await writeFile(join(folder, 'users.txt'), `${list}\n`);
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${hostname} port=${serverPort || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = extra_float_digits,options
`,
  );
  await chmod(folder, 0o755);
  // It refuses to run as root.
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const proxy = spawn(PROGRAM!, ['-q', ...asUser, join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
  });
  endWithThisProcess(proxy);
  const ended = new Promise((resolve) => proxy.once('exit', resolve));
  await until(() => accepts(port), 'PgBouncer');
  return {
    through(given) {
      const proxied = new URL(given);
      proxied.host = `127.0.0.1:${port}`;
      return proxied.href;
    },
    async stop() {
      proxy.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
