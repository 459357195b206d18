import type { FingerprintInput } from './fingerprint.js';

/** What Express's and Fastify's requests have in common. */
export interface IncomingRequest {
  method: string;
  url: string;
  originalUrl?: string;
  headers: Record<string, string | string[] | undefined>;
  params?: unknown;
  body?: unknown;
}

/** What a retry has to repeat. */
export function describeRequest(request: IncomingRequest, route: string): FingerprintInput {
  return {
    method: request.method,
    route,
    params: request.params,
    url: request.originalUrl ?? request.url,
    contentType: request.headers['content-type'] as string | undefined,
    body: parsed(request.body),
  };
}

/** A stream (Fastify parsers may pass one on) is left to the handler: what nobody has read cannot be compared. */
function parsed(body: unknown): unknown {
  const isStream = typeof (body as { pipe?: unknown } | null | undefined)?.pipe === 'function';
  return isStream ? undefined : body;
}
