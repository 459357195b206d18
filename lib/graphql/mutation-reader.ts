import type { ExecutionContext } from '@nestjs/common';
import { IdempotencyProblem } from '../answers/problems.js';
import type { IdempotentEntry } from '../calls/idempotent-entry.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { customFingerprint } from '../request/fingerprint.js';
import { givenKey, givenKeyMissing } from '../request/given-key.js';
import type { IncomingRequest } from '../request/incoming-request.js';
import { keptRequest } from '../request/kept-request.js';
import { keyMissing, readKey } from '../request/key-header.js';
import type { KeyedRequest } from '../request/request-reader.js';
import { readScope, type ScopeReader } from '../request/scope.js';
import { Observation } from '../telemetry/observation.js';
import { withMarks } from './faithful-json.js';
import { placeOf, type Mutation } from './mutation.js';

/** In the column of a request's method. */
const METHOD = 'MUTATION';

/** Reads the key, the scope and the fingerprint of a mutation. */
export class MutationReader {
  constructor(
    private readonly header: string,
    private readonly scopes: ScopeReader,
  ) {}

  /** Undefined: it has no key, and needs none. */
  key(mutation: Mutation, { name, policy }: IdempotentEntry): string | undefined {
    const { args, context, info } = mutation;
    if (policy.skip?.(args, context, info)) return undefined;
    const own = policy.key;
    const key = own ? givenKey(own(args, context, info)) : this.keyInHeader(mutation, name);
    if (key !== undefined || !policy.required) return key;
    throw own ? givenKeyMissing() : this.missing(mutation);
  }

  /** Call it before the pipes, which may change the arguments. */
  async identify(
    key: string,
    mutation: Mutation,
    { name, policy }: IdempotentEntry,
    execution: ExecutionContext,
    observed: Observation,
  ): Promise<KeyedRequest> {
    const { args, context, info } = mutation;
    const { fieldName: field, path } = info;
    // A header is for the whole document; an argument is for the call that it is part of.
    const place = policy.key ? 1 : placeOf(info);
    const compared = policy.fingerprint
      ? await policy.fingerprint(args, context, info)
      : comparable(args, name);
    return {
      scope: await this.scope(mutation, name, policy, execution),
      endpoint: `${METHOD} ${field}${place > 1 ? ` ${place}` : ''}`,
      key,
      fingerprint: customFingerprint({ method: METHOD, route: field, params: {} }, compared),
      observed,
      ofClient: true,
      summarise: () => ({
        method: METHOD,
        route: field,
        path: String(path.key),
        kept: keptRequest(keeping(policy, mutation), args, args),
      }),
    };
  }

  private keyInHeader({ request }: Mutation, name: string): string | undefined {
    // The headers that opened a WebSocket belong to none of its operations.
    if (isSocket(request)) return undefined;
    if (!request?.headers) throw withoutRequest(name, 'its key is in a header of the request');
    const key = readKey(request, this.header);
    if (key === undefined || !isBatch(request)) return key;
    throw new IdempotencyProblem(
      'key_invalid',
      `The ${this.header} header is one for all operations of a batch, which are operations of their own. Send each of them in a request of its own.`,
    );
  }

  private missing({ request }: Mutation): IdempotencyProblem {
    if (!isSocket(request)) return keyMissing(this.header);
    return new IdempotencyProblem(
      'key_missing',
      `This operation is idempotent and takes its key from the ${this.header} header, which an operation over a WebSocket does not have. Send it in an HTTP request.`,
    );
  }

  private scope(
    { request }: Mutation,
    name: string,
    { scope }: ResolvedPolicy,
    execution: ExecutionContext,
  ): string | Promise<string> {
    if (scope !== undefined) return readScope(scope, request, execution);
    if (!request && this.scopes.needsRequest) {
      throw withoutRequest(name, "the module's scope is a function of the request");
    }
    return this.scopes.read(request, execution);
  }
}

/** What graphql-ws has for a connection stands in the place of a request. */
function isSocket(request: object | undefined): boolean {
  return request !== undefined && !('headers' in request) && 'connectionParams' in request;
}

/** Several operations in one HTTP request, as both drivers allow it. */
function isBatch({ body }: Partial<IncomingRequest>): boolean {
  return Array.isArray(body) && body.length > 1;
}

/** Dates and the like as well. A file that is uploaded is a promise, of which nothing is known yet. */
function comparable(args: unknown, name: string): unknown {
  try {
    return withMarks(args);
  } catch (error) {
    if (error instanceof RangeError) {
      throw new IdempotencyProblem('body_invalid', 'An argument is nested too deeply.');
    }
    throw new IdempotencyConfigurationError(
      `${name}: an argument cannot be compared with that of a retry: ${(error as Error).message}. ` +
        'Give @Idempotent() a fingerprint: (args) => what a retry has to repeat.',
    );
  }
}

function keeping({ keepRequest: keep }: ResolvedPolicy, { args, context, info }: Mutation) {
  if (typeof keep === 'boolean') return keep && (() => withMarks(args));
  return () => keep(args, context, info);
}

function withoutRequest(name: string, why: string): Error {
  return new IdempotencyConfigurationError(
    `${name}: the GraphQL context has no request, but ${why}. ` +
      "Let the `context` option of GraphQLModule return an object with the request as `req`, or give the mutation's @Idempotent() a `key` and a `scope` of its own.",
  );
}
