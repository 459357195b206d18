import type { ServerResponse } from 'node:http';
import { ConnectedClient, type Client } from './client.js';
import type { Members } from './overlay.js';
import { headersOfAnotherAnswer, resetHeaders, type Headers } from './response-headers.js';
import { silence } from './silence.js';

/** A stream of Server-Sent Events to one client. */
export interface EventStream {
  readonly client: Client;
  /** Sends text in the format of the stream. Does nothing once the client has left. */
  write(text: string): void;
  end(): void;
}

/** `no-transform`: compression would buffer events; nginx buffers unless told not to. */
const HEADERS: Headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-cache, no-store, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Begins a stream on a Node response. What Nest, outer interceptors or filters
 * send afterwards is ignored.
 *
 * @param surroundings headers that others have set: CORS, a request id
 * @param silent what ignores everything else that is sent
 */
export function startEventStream(
  raw: ServerResponse,
  surroundings: Headers,
  silent: Members,
): EventStream {
  const client = new ConnectedClient(raw);
  const { write, end } = raw;
  raw.statusCode = 200;
  resetHeaders(raw, headersOfAnotherAnswer(surroundings, HEADERS));
  raw.flushHeaders();
  silence(raw, silent);
  return {
    client,
    write: (text) => {
      if (!client.gone) Reflect.apply(write, raw, [text]);
    },
    end: () => {
      if (!client.gone) Reflect.apply(end, raw, []);
    },
  };
}
