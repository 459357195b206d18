import { OWN_WORDS } from '../telemetry/own-words.js';

/**
 * Every problem that the library answers with, and its text. This is the only
 * place with texts for clients.
 */
export const PROBLEMS = {
  key_missing: {
    status: 400,
    title: 'Idempotency-Key is missing',
    retryable: false,
    stripe: { status: 400, type: 'invalid_request_error' },
  },
  key_invalid: {
    status: 400,
    title: 'Idempotency-Key is not valid',
    retryable: false,
    stripe: { status: 400, type: 'invalid_request_error' },
  },
  body_invalid: {
    status: 400,
    title: 'The request cannot be compared with its retries',
    retryable: false,
    stripe: { status: 400, type: 'invalid_request_error' },
  },
  key_reused: {
    status: 422,
    title: 'Idempotency-Key is already used',
    retryable: false,
    stripe: { status: 400, type: 'idempotency_error' },
  },
  in_progress: {
    status: 409,
    title: 'A request is outstanding for this Idempotency-Key',
    retryable: true,
    stripe: { status: 409, type: 'idempotency_error', code: 'idempotency_key_in_use' },
  },
  outcome_unknown: {
    status: 409,
    title: 'The outcome of the request is not known yet',
    retryable: true,
    stripe: { status: 409, type: 'idempotency_error' },
  },
  given_up: {
    status: 409,
    title: 'The operation was given up for now',
    retryable: true,
    stripe: { status: 409, type: 'idempotency_error' },
  },
  unfinished: {
    status: 408,
    title: 'The request was not completed in time',
    retryable: false,
    stripe: { status: 408, type: 'idempotency_error' },
  },
  expired: {
    status: 410,
    title: 'Idempotency-Key has expired',
    retryable: false,
    stripe: { status: 410, type: 'idempotency_error' },
  },
  response_unavailable: {
    status: 410,
    title: 'The response is no longer available',
    retryable: false,
    stripe: { status: 410, type: 'idempotency_error' },
  },
  scope_missing: {
    status: 403,
    title: 'The caller of the request is not known',
    retryable: false,
    stripe: { status: 403, type: 'invalid_request_error' },
  },
  rate_limited: {
    status: 429,
    title: 'Too many new keys',
    retryable: true,
    stripe: { status: 429, type: 'rate_limit_error', code: 'rate_limit' },
  },
  store_unavailable: {
    status: 503,
    title: 'Idempotency cannot be guaranteed at the moment',
    retryable: true,
    stripe: { status: 503, type: 'api_error' },
  },
  lease_lost: {
    status: 409,
    title: 'The request was taken over',
    retryable: true,
    stripe: { status: 409, type: 'idempotency_error' },
  },
} as const satisfies Record<
  string,
  {
    status: number;
    title: string;
    /** The same request may be sent again, under the same key. */
    retryable: boolean;
    stripe: { status: number; type: string; code?: string };
  }
>;

export type ProblemCode = keyof typeof PROBLEMS;

/**
 * Thrown inside the library when the library answers the request, and not the
 * application. The interceptor turns it into an answer without the application's
 * exception filters: clients depend on its exact shape.
 */
export class IdempotencyProblem extends Error {
  get [OWN_WORDS](): true {
    return true;
  }

  constructor(
    readonly code: ProblemCode,
    /** A sentence for the client's developer about this occurrence. */
    readonly detail: string,
    /** Seconds until a retry is worth it. */
    readonly retryAfter?: number,
    /** Further members of the problem document. */
    readonly members: Record<string, unknown> = {},
  ) {
    super(`${PROBLEMS[code].title}: ${detail}`);
    this.name = 'IdempotencyProblem';
  }
}

/**
 * Retry-After in whole seconds from 1 to 59: with 0, clients retry in a tight
 * loop; a date depends on clocks; common SDKs ignore 60 and above.
 */
export function retryAfterSeconds(milliseconds: number): number {
  return Math.min(59, Math.max(1, Math.ceil(milliseconds / 1000)));
}
