import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/*
 * The parts of Fastify that are used here, so that an Express application does
 * not need its types.
 */

export interface FastifyRequest {
  routeOptions: { url?: string };
}

export interface FastifyReply {
  raw: ServerResponse;
  request: FastifyRequest;
  send(payload?: unknown): unknown;
  header(name: string, value: string | string[]): unknown;
  getHeaders(): OutgoingHttpHeaders;
  removeHeader(name: string): unknown;
  /** From now on the library writes to the raw response. */
  hijack(): unknown;
}

/** Called with an error, or with the payload to continue with. */
export type Next = (error?: Error | null, payload?: unknown) => void;

export interface FastifyInstance {
  addHook(
    name: 'onSend',
    hook: (request: FastifyRequest, reply: FastifyReply, payload: unknown, next: Next) => unknown,
  ): unknown;
  addHook(
    name: 'onError',
    hook: (request: FastifyRequest, reply: FastifyReply, error: Error, next: () => void) => unknown,
  ): unknown;
}
