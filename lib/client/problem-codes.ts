/**
 * What each code of the library asks of a client:
 *
 * - `wait`: somebody is at it; ask again
 * - `retry`: ask again, as after a failure
 * - `unknown`: asking again is of no use by itself
 * - `outcome`: it is over, and this is the answer
 * - `refused`: nothing of this kind will be accepted
 */
export const ADVICE = {
  key_missing: 'refused',
  key_invalid: 'refused',
  body_invalid: 'refused',
  scope_missing: 'refused',
  key_reused: 'refused',
  expired: 'refused',
  response_unavailable: 'refused',
  in_progress: 'wait',
  lease_lost: 'wait',
  outcome_unknown: 'retry',
  store_unavailable: 'retry',
  rate_limited: 'retry',
  given_up: 'unknown',
  unfinished: 'outcome',
} as const;

export type ProblemCode = keyof typeof ADVICE;

/** They say that the key has a history. The other refusals come before anybody looks at it. */
export const WITH_A_HISTORY: readonly string[] = ['key_reused', 'expired', 'response_unavailable'];

interface ProblemBody {
  code?: unknown;
  error?: { code?: unknown };
}

/** The code in a problem document (IETF), or in an object `error` (Stripe, and many envelopes). */
export function codeIn(body: unknown): ProblemCode | undefined {
  const { code, error } = (body ?? {}) as ProblemBody;
  const found = code ?? error?.code;
  if (found === 'idempotency_key_in_use') return 'in_progress';
  if (found === 'rate_limit') return 'rate_limited';
  return Object.hasOwn(ADVICE, String(found)) ? (found as ProblemCode) : undefined;
}
