import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedPolicy } from '../idempotency.policy.js';
import { customFingerprint, fingerprint, type FingerprintInput } from './fingerprint.js';

/** What Express's and Fastify's requests have in common. */
export interface IncomingRequest {
  method: string;
  url: string;
  originalUrl?: string;
  headers: Record<string, string | string[] | undefined>;
  params?: unknown;
  body?: unknown;
}

export interface RequestIdentity {
  endpoint: string;
  fingerprint: Buffer;
}

/** Which endpoint's keyspace the key lives in, and what a retry has to repeat. */
export function readRequest(
  request: IncomingRequest,
  route: string,
  policy: ResolvedPolicy,
  context: ExecutionContext,
): RequestIdentity | Promise<RequestIdentity> {
  const input: FingerprintInput = {
    method: request.method,
    route,
    params: request.params,
    url: request.originalUrl ?? request.url,
    contentType: request.headers['content-type'] as string | undefined,
    body: parsed(request.body),
  };
  const endpoint = policy.keyspace === 'endpoint' ? `${request.method} ${route}` : '';
  if (!policy.fingerprint) return { endpoint, fingerprint: fingerprint(input) };
  return customized(endpoint, input, policy.fingerprint(request, context));
}

async function customized(
  endpoint: string,
  input: FingerprintInput,
  custom: unknown,
): Promise<RequestIdentity> {
  return { endpoint, fingerprint: customFingerprint(input, await custom) };
}

/** A stream (Fastify parsers may pass one on) is left to the handler: what nobody has read cannot be compared. */
function parsed(body: unknown): unknown {
  const isStream = typeof (body as { pipe?: unknown } | null | undefined)?.pipe === 'function';
  return isStream ? undefined : body;
}
