import { connect, type Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** The server ends a cancelled statement within milliseconds, unless nobody is there any more. */
const GRACE = 1_000;

/** PostgreSQL's protocol: what stands in the place of a version in a request to cancel. */
const CANCEL_REQUEST_CODE = 80_877_102;

/** What pg knows about its connection, beyond its types. */
interface ConnectedClient extends ClientBase {
  processID?: number | null;
  secretKey?: number | null;
  host?: string;
  port?: number;
  connection?: { stream?: Socket };
}

/**
 * Ends a statement that nobody waits for any more: on the server, by a request
 * to cancel, which proxies pass on; and if no reply comes even then, by closing
 * the connection. `ended` fires when the statement's reply is there.
 */
export async function endStatement(client: ClientBase, ended: AbortSignal): Promise<void> {
  await requestCancellation(client);
  if (ended.aborted) return;
  const timer = setTimeout(() => {
    (client as ConnectedClient).connection?.stream?.destroy(
      new Error('Connection terminated: a cancelled statement got no reply.'),
    );
  }, GRACE).unref();
  ended.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

/** Resolves when the server has taken the request, or cannot be reached. */
function requestCancellation(client: ConnectedClient): Promise<void> {
  const { processID, secretKey } = client;
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return Promise.resolve();
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  return new Promise((resolve) => {
    const socket = sameServer(client);
    socket.setTimeout(GRACE, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    // The other side closes it when the request is carried out. Closing it from here,
    // as soon as the request is written, ends the whole process of PgBouncer 1.18.
    socket.on('connect', () => socket.write(request));
    socket.resume();
  });
}

/** Where the client is connected now: of several hosts, only this one has the statement. */
function sameServer({ connection, host = 'localhost', port = 5432 }: ConnectedClient): Socket {
  const { remoteAddress, remotePort } = connection?.stream ?? {};
  if (remoteAddress !== undefined && remotePort !== undefined) {
    return connect(remotePort, remoteAddress);
  }
  return host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
}
