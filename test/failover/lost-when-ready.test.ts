import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { severalHosts } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { MessageReader } from '../support/postgres-messages.js';

let database: TestDatabase;
let relay: Relay;
beforeAll(async () => {
  database = await createTestDatabase();
  relay = await startRelay(new URL(database.dataSourceOptions.url));
});
afterAll(async () => {
  relay.close();
  await database.drop();
});

/** What a server says to a connection when its postmaster is killed. */
const FATAL = errorMessage(
  'FATAL',
  '57P01',
  'terminating connection due to unexpected postmaster exit',
);

interface Relay {
  url: string;
  /** The connection with this number, from 1, gets FATAL in one packet with the message that it is ready. */
  fatalFor(connection: number): void;
  close(): void;
}

async function startRelay(target: URL): Promise<Relay> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let fatal = 0;
  const server: Server = createServer((client) => {
    const number = ++connections;
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const messages = new MessageReader(false);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', () => undefined);
      socket.on('close', () => [client, upstream].forEach((each) => each.destroy()));
    }
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      const ready = messages.read(chunk).some(({ type }) => type === 'Z');
      if (number !== fatal || !ready) return void client.write(chunk);
      client.end(Buffer.concat([chunk, FATAL]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    fatalFor: (connection) => void (fatal = connections + connection),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function errorMessage(severity: string, code: string, message: string): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

describe('With several hosts, a server that dies when it has just accepted a connection', () => {
  it.each([
    ['the connection that asks it whether it accepts writes', 1],
    ['the connection of the pool', 2],
  ])('costs %s, and not the process', async (_, connection) => {
    const { url, extra } = severalHosts(relay.url);
    const pool = new Pool({ connectionString: url, ...extra, max: 1 });
    pool.on('error', () => undefined);
    relay.fatalFor(connection);
    await expect(pool.query('SELECT 1')).rejects.toThrow('unexpected postmaster exit');
    const { rows } = await pool.query<{ works: boolean }>('SELECT true AS works');
    expect(rows).toEqual([{ works: true }]);
    await pool.end();
  });
});
