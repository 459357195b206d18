import type { IdempotencyProblem, ProblemCode } from '../answers/problems.js';
import {
  leaseLost,
  outcomeUnknown,
  refusalOf,
  storeUnavailable,
  unfinished,
} from '../keys/refusal.js';
import { bodyInvalid } from '../request/fingerprint.js';
import { givenKeyInvalid, givenKeyMissing } from '../request/given-key.js';
import { keyInvalid, keyMissing } from '../request/key-header.js';
import { scopeMissing } from '../request/scope.js';

/** One problem of each code, as clients get it. */
export function exampleProblem(
  code: ProblemCode,
  /** Undefined where the route takes its key from elsewhere. */
  header: string | undefined,
): IdempotencyProblem {
  switch (code) {
    case 'key_missing':
      return header === undefined ? givenKeyMissing() : keyMissing(header);
    case 'key_invalid':
      return header === undefined
        ? givenKeyInvalid('It has 300 characters; at most 255 are allowed.')
        : keyInvalid(header, 'It was sent more than once.');
    case 'body_invalid':
      return bodyInvalid();
    case 'key_reused':
      return refusalOf({ kind: 'mismatch' });
    case 'in_progress':
      return refusalOf({ kind: 'inProgress', id: '1', runningFor: 1_000 });
    case 'outcome_unknown':
      return outcomeUnknown();
    case 'given_up':
      return refusalOf({ kind: 'givenUp' });
    case 'unfinished':
      return unfinished();
    case 'expired':
      return refusalOf({ kind: 'gone' });
    case 'response_unavailable':
      return refusalOf({ kind: 'unavailable', status: 201 });
    case 'scope_missing':
      return scopeMissing();
    case 'rate_limited':
      return refusalOf({ kind: 'limited', limit: 'newKeysPerSecond', retryIn: 1_000 });
    case 'store_unavailable':
      return storeUnavailable(
        'The request was not processed, because its key could not be checked.',
      );
    case 'lease_lost':
      return leaseLost();
  }
}
