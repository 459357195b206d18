import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { neverReached } from '../../sample-app/payments/never-reached.js';

/** Whatever fetch makes of it: the real errors, not ones that look like them. */
async function errorOf(url: string, init: RequestInit = {}): Promise<unknown> {
  return fetch(url, { method: 'POST', body: '{}', ...init }).then(
    () => Promise.reject(new Error('This request should have failed.')),
    (error: unknown) => new Error('wrapped, as the payment client does', { cause: error }),
  );
}

async function listen(onConnection: (socket: Socket) => void): Promise<[Server, number]> {
  const server = createServer(onConnection).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return [server, (server.address() as AddressInfo).port];
}

describe('A call that failed', () => {
  it.each(['127.0.0.1', 'localhost'])(
    'has never reached a provider that does not listen on %s',
    async (host) => {
      const [server, port] = await listen((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
      expect(neverReached(await errorOf(`http://${host}:${port}`))).toBe(true);
    },
  );

  it('has never reached a host that does not exist', async () => {
    expect(neverReached(await errorOf('http://no-such-host.invalid'))).toBe(true);
  });

  it('may have reached a provider that cut the connection', async () => {
    const [server, port] = await listen((socket) => socket.once('data', () => socket.destroy()));
    expect(neverReached(await errorOf(`http://127.0.0.1:${port}`))).toBe(false);
    server.close();
  });

  it('may have reached a provider that did not answer in time', async () => {
    const impatience = new AbortController();
    const [server, port] = await listen((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => impatience.abort());
    });
    const error = await errorOf(`http://127.0.0.1:${port}`, { signal: impatience.signal });
    expect(neverReached(error)).toBe(false);
    server.close();
  });

  it('proves nothing if the error is of another kind', () => {
    expect(neverReached(new TypeError('a bug'))).toBe(false);
    expect(neverReached(undefined)).toBe(false);
  });
});
