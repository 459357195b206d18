import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { KeyName } from '../schema/key-name.js';
import { customFingerprint, fingerprint, type FingerprintInput } from './fingerprint.js';
import { describeRequest, routeOnHost, type IncomingRequest } from './incoming-request.js';
import { keptRequest, pathOf, type RequestSummary } from './kept-request.js';
import { keyMissing, readKey } from './key-header.js';
import type { Observation } from '../telemetry/observation.js';
import type { ScopeReader } from './scope.js';

/** A request with a key: whose key it is, and what a retry has to repeat. */
export interface KeyedRequest extends KeyName {
  fingerprint: Buffer;
  observed: Observation;
  /** For people. Only a new key needs it. */
  summarise(): RequestSummary;
}

/** A request as its route sees it. */
export interface RoutedRequest {
  request: IncomingRequest;
  /** The pattern of the matched route, such as `/rides/:id/tips`. */
  pattern: string;
  /** Its controller is bound to hosts, so the host is part of the route. */
  ofHost: boolean;
  policy: ResolvedPolicy;
  context: ExecutionContext;
  observed: Observation;
}

/** Reads the key, the scope and the fingerprint of a request. */
export class RequestReader {
  constructor(
    private readonly header: string,
    private readonly scopes: ScopeReader,
  ) {}

  /** Undefined: it has no key, and needs none. */
  key(request: IncomingRequest, required: boolean): string | undefined {
    const key = readKey(request, this.header);
    if (key === undefined && required) throw keyMissing(this.header);
    return key;
  }

  /** Call it before the handler, which may change the request. */
  async identify(key: string, routed: RoutedRequest): Promise<KeyedRequest> {
    const { request, pattern, ofHost, policy, context, observed } = routed;
    const scope = await this.scopes.read(request, context);
    const described = describeRequest(request, ofHost ? routeOnHost(request, pattern) : pattern);
    const { method, route, url } = described;
    return {
      scope,
      endpoint: policy.keyspace === 'endpoint' ? `${method} ${route}` : '',
      key,
      fingerprint: await fingerprintOf(described, routed),
      observed,
      summarise: () => ({
        method,
        route,
        path: pathOf(url),
        kept: keptRequest(policy.keepRequest, request),
      }),
    };
  }
}

async function fingerprintOf(
  described: FingerprintInput,
  { policy, request, context }: RoutedRequest,
): Promise<Buffer> {
  if (!policy.fingerprint) return fingerprint(described);
  return customFingerprint(described, await policy.fingerprint(request, context));
}
