import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the server does with one request. */
export type Step =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** Takes the request, and closes the connection. */
  | 'reset'
  /** Sends the head and half of the body, and closes the connection. */
  | 'cut'
  /** Never answers. */
  | 'hang'
  | ((request: IncomingMessage, response: ServerResponse) => void);

export interface SeenRequest {
  method: string;
  url: string;
  key: string | undefined;
  attempt: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface ScriptedServer {
  url: string;
  requests: SeenRequest[];
  /** The answers to the next requests, in this order; the last one is repeated. */
  play(...steps: Step[]): void;
  close(): Promise<void>;
}

/** A server of anybody's making, which does what a test tells it to. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  let script: Step[] = [];
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const body = await text(request);
    const one = (name: string) => headers[name] as string | undefined;
    const key = one('idempotency-key');
    requests.push({ method, url, key, attempt: one('idempotency-attempt'), headers, body });
    const step = script.length > 1 ? script.shift()! : script[0]!;
    if (step === 'hang') return;
    if (step === 'reset') return void request.socket.destroy();
    if (step === 'cut') {
      response.writeHead(201, {
        'content-length': '100',
        'idempotency-key-expires': new Date(Date.now() + 3_600_000).toUTCString(),
      });
      response.write('{"half":', () => request.socket.destroy());
      return;
    }
    if (typeof step === 'function') return step(request, response);
    const json = step.body !== undefined && typeof step.body !== 'string';
    response.writeHead(step.status, {
      ...(json && { 'content-type': 'application/json' }),
      ...step.headers,
    });
    response.end(json ? JSON.stringify(step.body) : step.body);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    play(...steps) {
      requests.length = 0;
      script = steps;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
