import { request } from 'node:http';

export interface Sending {
  /** @default 'POST' */
  method?: string;
  /** The value of the header Idempotency-Key, as it is. */
  key?: string;
  /** Strings and buffers are sent as they are, everything else as JSON. */
  body?: unknown;
  /** An array is sent as several header lines. */
  headers?: Record<string, string | string[]>;
  /** Aborting closes the connection, as a client that gives up does. */
  signal?: AbortSignal;
}

export interface Received {
  status: number;
  headers: Headers;
  /** The bytes on the wire, still compressed if the request accepted that. */
  body: Buffer;
  text: string;
  json<T = any>(): T;
}

/**
 * One request on a connection of its own. Not fetch(), which follows redirects,
 * joins header lines, asks for compression and undoes it.
 */
export function send(url: string, sending: Sending = {}): Promise<Received> {
  const { method = 'POST', key, signal } = sending;
  const { bytes, type } = encode(sending.body);
  const headers: Record<string, string | string[]> = {
    ...(type && { 'content-type': type }),
    ...(bytes && { 'content-length': String(bytes.length) }),
    ...(key !== undefined && { 'idempotency-key': key }),
    ...sending.headers,
  };

  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, signal, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const body = Buffer.concat(chunks);
        const text = body.toString();
        resolve({
          status: incoming.statusCode ?? 0,
          headers: headersOf(incoming.rawHeaders),
          body,
          text,
          json: <T>() => JSON.parse(text) as T,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(bytes);
  });
}

function encode(body: unknown): { bytes?: Buffer; type?: string } {
  if (body === undefined) return {};
  if (Buffer.isBuffer(body)) return { bytes: body, type: 'application/octet-stream' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { bytes: Buffer.from(text), type: 'application/json' };
}

function headersOf(raw: string[]): Headers {
  const headers = new Headers();
  for (let i = 0; i < raw.length; i += 2) headers.append(raw[i]!, raw[i + 1]!);
  return headers;
}
