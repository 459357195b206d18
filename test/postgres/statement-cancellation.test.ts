import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { ClientBase } from 'pg';
import { until } from '../support/until.js';
import { endStatement } from '../../lib/postgres/statement-cancellation.js';

/** A server that takes a request to cancel, and the client whose statement it is about. */
async function startServer() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const destroyed: unknown[] = [];
  const client = {
    processID: 4711,
    secretKey: -2,
    connection: {
      stream: {
        remoteAddress: '127.0.0.1',
        remotePort: port,
        destroy: (reason: unknown) => destroyed.push(reason),
      },
    },
  } as unknown as ClientBase;
  return { server, client, destroyed };
}

describe('A request to cancel a statement', () => {
  it('names the connection, and lets the other side close it: PgBouncer 1.18 crashes otherwise', async () => {
    const { server, client, destroyed } = await startServer();
    const ended = new AbortController();
    const cancelled = endStatement(client, ended.signal);
    const [socket] = (await once(server, 'connection')) as [Socket];
    let closedByUs = false;
    socket.on('end', () => (closedByUs = true));
    const [request] = (await once(socket, 'data')) as [Buffer];
    expect([0, 4, 8, 12].map((at) => request.readInt32BE(at))).toEqual([16, 80_877_102, 4711, -2]);
    // Whatever we had sent behind the request would be here by now.
    await new Promise((resolve) => setImmediate(resolve));
    expect(closedByUs).toBe(false);

    ended.abort();
    socket.end();
    await cancelled;
    server.close();
    expect(destroyed).toEqual([]);
  });

  it('that is not accepted still lets the connection be closed', async () => {
    const { server, client, destroyed } = await startServer();
    server.close();
    await once(server, 'close');
    await endStatement(client, new AbortController().signal);
    await until(() => destroyed.length === 1, 'the end of the connection');
    expect(String(destroyed[0])).toMatch(/Connection terminated/);
  });
});
