import type { Voice } from '../answers/render-problem.js';
import { isIdempotent } from '../policy/http-methods.js';
import { isLastWord, type ResolvedPolicy } from '../policy/resolve-policy.js';
import { LONGEST_KEY, PLAIN_KEY } from '../request/key-header.js';
import { shortestKey } from '../request/key-hygiene.js';
import { descriptionOf } from './operation-text.js';
import { possibleProblems, problemResponses } from './problem-responses.js';
import { EXPIRES, locationOf, REPLAYED, RETRY_AFTER } from './response-headers.js';
import { ACCEPTED_SCHEMA, PROBLEM_SCHEMA, STRIPE_SCHEMA } from './schemas.js';
import type { ParameterPart, Part, Responses } from './swagger-metadata.js';

/** What a document has to know of an idempotent route. */
export interface DocumentedRoute {
  /** `POST`, or `ALL` for `@All()`. */
  method: string;
  policy: ResolvedPolicy;
  /** The handler's own decorator requires a key, whatever the method. */
  demandsKey: boolean;
  /** Callers have scopes of their own. */
  scoped: boolean;
}

/** What a document has to know of the module. */
export interface DocumentedModule {
  header: string;
  voice: Voice;
  /** The address of the status of a key, if there is one. */
  locationOf: (id: string) => string | undefined;
  /** Scopes have limits. */
  limited: boolean;
}

/** What the library adds to the description of an operation. */
export interface IdempotentOperation {
  description: string;
  /** Absent where the route takes its key from elsewhere. */
  parameter: ParameterPart | undefined;
  /** Those of the library itself. */
  responses: Responses;
  /** Of every answer that is recorded. */
  replayHeaders: Part;
  /** Whether a recorded answer can have this status. */
  isReplayed: (status: number) => boolean;
  extensions: Part;
}

/** A key as a client should make it: a UUIDv7. */
export const EXAMPLE_KEY = '01980b4e-7c1b-7d3e-9a55-2f6f0c4b8e21';

/** The schema that these descriptions refer to. */
export function modelsOf({ dialect }: Voice): unknown[] {
  const ofDialect = { ietf: PROBLEM_SCHEMA, stripe: STRIPE_SCHEMA };
  return typeof dialect === 'function' ? [] : [ofDialect[dialect].model];
}

export function operationOf(route: DocumentedRoute, module: DocumentedModule): IdempotentOperation {
  const { policy } = route;
  const header = policy.key ? undefined : module.header;
  const required = isRequired(route);
  const { scoped } = route;
  const codes = possibleProblems(policy, { required, scoped, limited: module.limited });
  return {
    description: descriptionOf(route, required, header),
    parameter: header === undefined ? undefined : parameterOf(route, required, header),
    responses: {
      ...(answersAccepted(policy) && { 202: accepted(module) }),
      ...problemResponses(codes, module.voice, header),
    },
    replayHeaders: {
      ...REPLAYED,
      ...((policy.retention !== null || policy.retentionOf) && EXPIRES),
    },
    // Not by `isFinal`, which is the application's and knows requests only.
    isReplayed: (status) => isLastWord(status) || policy.onServerError === 'store',
    // What Fern's generator of clients knows: such an operation takes the headers that the root
    // of the document lists.
    extensions: header === undefined ? {} : { 'x-fern-idempotent': true },
  };
}

function isRequired({ method, policy, demandsKey }: DocumentedRoute): boolean {
  return isIdempotent(method) ? demandsKey : policy.required;
}

function answersAccepted({ run, onInProgress }: ResolvedPolicy): boolean {
  return run === 'background' || onInProgress === 'accept';
}

function parameterOf(route: DocumentedRoute, required: boolean, name: string): ParameterPart {
  return {
    name,
    in: 'header',
    // One description for all methods of @All(), and GET has no key.
    required: required && route.method !== 'ALL',
    description:
      'Unique to the operation, such as a UUID. Repeat it to retry the operation, and never use it for another one.',
    schema: {
      type: 'string',
      minLength: shortestKey(route.policy),
      maxLength: LONGEST_KEY,
      pattern: PLAIN_KEY.source,
      example: EXAMPLE_KEY,
    },
  };
}

function accepted({ locationOf: location }: DocumentedModule): Responses[string] {
  const example = location('42');
  return {
    description: 'The work continues. Retry with the same key to get its answer.',
    headers: { ...RETRY_AFTER, ...(example !== undefined && locationOf(example)) },
    content: { 'application/json': { schema: ACCEPTED_SCHEMA } },
  };
}
