import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { KeyName } from '../schema/key-name.js';
import { endOfTurn } from './end-of-turn.js';
import {
  customFingerprint,
  fingerprint as wholeFingerprint,
  type FingerprintInput,
} from './fingerprint.js';
import { describeRequest, routeOnHost, type IncomingRequest } from './incoming-request.js';
import { KeptSummary, keptRequest, pathOf, type RequestSummary } from './kept-request.js';
import { givenKey, givenKeyMissing } from './given-key.js';
import { keyMissing, readKey } from './key-header.js';
import type { Observation } from '../telemetry/observation.js';
import { requestText } from './request-text.js';
import type { ScopeReader } from './scope.js';

/** A request with a key: whose key it is, and what a retry has to repeat. */
export interface KeyedRequest extends KeyName {
  readonly fingerprint: Buffer;
  /** Requests with equal texts have equal fingerprints. Undefined if it has none. */
  readonly text?: string | undefined;
  observed: Observation;
  /** A client sent it, so the limits of its scope hold. Messages and own calls have none: they must not be lost. */
  ofClient?: boolean;
  /** For people. Only a new key needs it. */
  summarise(): RequestSummary;
}

/** A request as its route sees it. */
export interface RoutedRequest {
  readonly request: IncomingRequest;
  readonly context: ExecutionContext;
  readonly observed: Observation;
  /** The pattern of the matched route, such as `/rides/:id/tips`. */
  readonly pattern: string;
  /** Its controller is bound to hosts, so the host is part of the route. */
  readonly ofHost: boolean;
  readonly policy: ResolvedPolicy;
}

/** Reads the key, the scope and the fingerprint of a request. */
export class RequestReader {
  constructor(
    private readonly header: string,
    private readonly scopes: ScopeReader,
  ) {}

  /**
   * Undefined: it has no key, and needs none.
   *
   * @param own where the route has its key, if not in the header
   */
  key(
    request: IncomingRequest,
    context: ExecutionContext,
    required: boolean,
    own: ResolvedPolicy['key'],
  ): string | undefined {
    const key = own ? givenKey(own(request, context)) : readKey(request, this.header);
    if (key === undefined && required) throw own ? givenKeyMissing() : keyMissing(this.header);
    return key;
  }

  /** Call it before the handler, which may change the request. */
  async identify(key: string, routed: RoutedRequest): Promise<KeyedRequest> {
    await endOfTurn();
    const { request, context, observed, pattern, policy } = routed;
    const read = this.scopes.read(request, context, policy.scope);
    const scope = typeof read === 'string' ? read : await read;
    const described = describeRequest(
      request,
      routed.ofHost ? routeOnHost(request, pattern) : pattern,
    );
    const { method, route } = described;
    const endpoint = policy.keyspace === 'endpoint' ? `${method} ${route}` : '';
    const own = policy.fingerprint
      ? customFingerprint(described, await policy.fingerprint(request, context))
      : undefined;
    // Without the request: what is observed may outlive it.
    observed.name = { scope, endpoint, key };
    return new IdentifiedRequest(scope, endpoint, key, own, observed, described, routed);
  }
}

/** A class, because it lives as long as its request: see "Garbage collection" in bench/README.md. */
class IdentifiedRequest implements KeyedRequest {
  readonly ofClient = true;

  constructor(
    readonly scope: string,
    readonly endpoint: string,
    readonly key: string,
    /** What the route's `fingerprint` option gave. */
    private readonly own: Buffer | undefined,
    readonly observed: Observation,
    private readonly described: FingerprintInput,
    private readonly routed: RoutedRequest,
  ) {}

  /** A retry whose text is known needs none. */
  get fingerprint(): Buffer {
    return this.own ?? wholeFingerprint(this.described);
  }

  get text(): string | undefined {
    if (this.own) return undefined;
    return requestText(this.described, this.routed.request.headers['content-length']);
  }

  summarise(): RequestSummary {
    const { method, route, url } = this.described;
    const { policy, request } = this.routed;
    const kept = keptRequest(policy.keepRequest, request, request.body);
    return new KeptSummary(method, route, pathOf(url), kept);
  }
}
