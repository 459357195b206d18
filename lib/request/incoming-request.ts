import { hash } from 'node:crypto';
import type { FingerprintInput } from './fingerprint.js';

/**
 * The longest name in DNS. A longer one from a client must not exceed the size of
 * an index entry.
 */
const LONGEST_HOST = 253;

/** What Express's and Fastify's requests have in common. */
export interface IncomingRequest {
  method: string;
  url: string;
  originalUrl?: string;
  /** Without the port; from a proxy, where the application trusts it. */
  hostname?: string;
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

/** The route preceded by the request's host, for a controller that is bound to hosts. */
export function routeOnHost({ hostname = '' }: IncomingRequest, route: string): string {
  const host = hostname.toLowerCase();
  return `//${host.length > LONGEST_HOST ? hash('sha256', host) : host}${route}`;
}

/**
 * A stream (Fastify parsers may pass one on) is left to the handler: an unread
 * body cannot be compared.
 */
function parsed(body: unknown): unknown {
  const isStream = typeof (body as { pipe?: unknown } | null | undefined)?.pipe === 'function';
  return isStream ? undefined : body;
}
