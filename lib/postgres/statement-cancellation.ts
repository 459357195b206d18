import { connect, type Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** The server ends a cancelled statement within milliseconds, unless it is unreachable. */
const GRACE = 1_000;

/** PostgreSQL's protocol: the code of a cancel request, in place of a version. */
const CANCEL_REQUEST_CODE = 80_877_102;

/** What pg knows about its connection, but does not declare in its types. */
interface ConnectedClient extends ClientBase {
  processID?: number | null;
  secretKey?: number | null;
  host?: string;
  port?: number;
  connection?: { stream?: Socket };
}

/**
 * Ends a statement that nobody waits for any more: on the server, with a cancel
 * request, which proxies forward; and if there is still no reply, by closing the
 * connection. `ended` aborts when the statement's reply has arrived.
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

/** Resolves when the server has processed the request, or cannot be reached. */
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
    // The server closes the socket when it has processed the request. Closing it from here, as soon
    // as the request is written, crashes PgBouncer 1.18.
    socket.on('connect', () => socket.write(request));
    socket.resume();
  });
}

/**
 * The host that the client is connected to: with several hosts, only this one has
 * the statement.
 */
function sameServer({ connection, host = 'localhost', port = 5432 }: ConnectedClient): Socket {
  const { remoteAddress, remotePort } = connection?.stream ?? {};
  if (remoteAddress !== undefined && remotePort !== undefined) {
    return connect(remotePort, remoteAddress);
  }
  return host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
}
