import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'amqplib';
import { endWithThisProcess } from './end-with-this-process.js';
import { until } from './until.js';

export interface Broker {
  url: string;
  stop(): Promise<void>;
}

/** Debian's, past its wrapper that wants to be another user; or the one of another package. */
const SERVER = ['/usr/lib/rabbitmq/bin', ...(process.env.PATH ?? '').split(':')]
  .map((folder) => join(folder, 'rabbitmq-server'))
  .find((path) => existsSync(path));

/** False: there is no RabbitMQ, and a line has said what is not tested. */
export function hasRabbitMq(what: string): boolean {
  if (process.env.AMQP_URL || SERVER) return true;
  process.stderr.write(
    `${what} is not tested with RabbitMQ: it is missing. Install it (Debian: rabbitmq-server), or set AMQP_URL.\n`,
  );
  return false;
}

/** The broker of AMQP_URL, or one of our own on loopback, which ends with this process. */
export async function startBroker(): Promise<Broker> {
  if (process.env.AMQP_URL) return { url: process.env.AMQP_URL, stop: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'rabbitmq-'));
  const [names, port, distribution] = await freePorts(3);
  const env = {
    ...process.env,
    HOME: folder,
    ERL_EPMD_PORT: String(names),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `test${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'none'),
  };
  // Erlang's directory of nodes as well: the one that Erlang starts by itself would stay for ever.
  const script = `epmd -port ${names} -address 127.0.0.1 & exec "$1"`;
  const broker = spawn('sh', ['-c', script, 'sh', SERVER!], {
    env,
    detached: true,
    stdio: 'ignore',
  });
  endWithThisProcess(broker, true);
  const ended = new Promise((resolve) => broker.once('exit', resolve));
  const url = `amqp://127.0.0.1:${port}`;
  await until(
    () =>
      connect(url).then(
        async (connection) => {
          await connection.close();
          return true;
        },
        () => false,
      ),
    'RabbitMQ to start',
  );
  return {
    url,
    async stop() {
      process.kill(-broker.pid!, 'SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(
    servers.map((server) => new Promise((ready) => server.once('listening', ready))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}
