import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import type { LimitName } from '../limits/limits.options.js';
import type { Decision } from './decision.js';
import { IdempotencyProblem, retryAfterSeconds } from '../answers/problems.js';

/** Long enough to ask the other system, short enough for a person who waits. */
const UNKNOWN_RETRY_AFTER = 30_000;

/** A person has to act first: the longest pause that clients respect. */
const GIVEN_UP_RETRY_AFTER = 59_000;

/** The other system did not answer properly a moment ago; asking at once would often fail again. */
const OPEN_RETRY_AFTER = 2_000;

/** A failover takes seconds; an immediate retry only adds load. */
const STORE_RETRY_AFTER = 2_000;

/** What a client that is over a limit of its scope has too much of. */
const OVER_LIMIT: Record<LimitName, string> = {
  newKeysPerSecond: 'New operations come faster than this caller may send them.',
  outstanding: 'Too many operations of this caller are not finished yet.',
  waiting: 'Too many requests of this caller wait already.',
  storedKeys: 'Too many operations of this caller are kept already.',
  storedBytes: 'The answers that are kept for this caller take up too much space.',
};

/** The problem for a decision not to run. */
export function refusalOf(
  decision: Exclude<Decision, { kind: 'run' | 'replay' | 'accepted' }>,
): IdempotencyProblem {
  switch (decision.kind) {
    case 'inProgress':
      return new IdempotencyProblem(
        'in_progress',
        'The first request with this key is still being processed. Retry with the same key to get its answer.',
        // The longer it has run, the longer clients should wait.
        retryAfterSeconds(decision.runningFor),
      );
    case 'mismatch':
      return new IdempotencyProblem(
        'key_reused',
        'This key was used before with another request (method, route, query or body). Use a new key for a new operation.',
      );
    case 'unknown':
      return outcomeUnknown(decision.reconcileIn);
    case 'givenUp':
      return new IdempotencyProblem(
        'given_up',
        'The operation has failed too often and is not tried again by itself. What it has done so far is kept. Ask the operator of this service; once it has been resumed, the same key gets its answer.',
        retryAfterSeconds(GIVEN_UP_RETRY_AFTER),
      );
    case 'gone':
      return new IdempotencyProblem(
        'expired',
        'The operation with this key was finished and its answer is no longer kept. Use a new key for a new operation.',
      );
    case 'stale':
      return new IdempotencyProblem(
        'expired',
        'This key was made longer ago than keys are kept, so it may have been used before. Use a new key for a new operation.',
      );
    case 'limited':
      return new IdempotencyProblem(
        'rate_limited',
        `${OVER_LIMIT[decision.limit]} Nothing was done and nothing was kept, so the same key can be used again. Retries of requests that were accepted before are not limited.`,
        retryAfterSeconds(decision.retryIn),
        { limit: decision.limit },
      );
    case 'unavailable':
      return new IdempotencyProblem(
        'response_unavailable',
        `The operation was finished${decision.status === null ? '' : ` with status ${decision.status}`}, but its answer could not be kept. It is not repeated.`,
        undefined,
        decision.status === null ? {} : { original_status: decision.status },
      );
  }
}

export function outcomeUnknown(reconcileIn: number | null = null): IdempotencyProblem {
  const wait = reconcileIn !== null && reconcileIn > 0 ? reconcileIn : UNKNOWN_RETRY_AFTER;
  return new IdempotencyProblem(
    'outcome_unknown',
    'An attempt was interrupted and it is not known whether it took effect. It is not repeated; the key is kept until the outcome has been found out.',
    retryAfterSeconds(wait),
  );
}

/** The same, if a retry may repeat the call in doubt and so resolve it. */
export class OutcomeOpen extends IdempotencyProblem {}

export function outcomeOpen(): IdempotencyProblem {
  return new OutcomeOpen(
    'outcome_unknown',
    'A step was interrupted and it is not known yet whether it took effect. Retry with the same key to find out and go on.',
    retryAfterSeconds(OPEN_RETRY_AFTER),
  );
}

/** Stored as the answer of a request that nobody finished within its retention. */
export function unfinished(): IdempotencyProblem {
  return new IdempotencyProblem(
    'unfinished',
    'It was interrupted, and nobody retried it for as long as its key is kept. It is not continued any more; steps that it had finished are not undone. Use a new key for a new operation.',
  );
}

export function leaseLost(): IdempotencyProblem {
  return new IdempotencyProblem(
    'lease_lost',
    'This attempt does not own the key any more. Retry with the same key to learn the outcome.',
    retryAfterSeconds(0),
  );
}

export function storeUnavailable(detail: string): IdempotencyProblem {
  return new IdempotencyProblem(
    'store_unavailable',
    `${detail} Retry with the same key.`,
    retryAfterSeconds(STORE_RETRY_AFTER),
  );
}

/** The problem for an error of the library; undefined for an error of the application. */
export function problemOf(error: unknown): IdempotencyProblem | undefined {
  if (error instanceof IdempotencyProblem) return error;
  if (error instanceof UnreadableRecordError) {
    return storeUnavailable(
      'The request was not processed, because what is on record for its key cannot be read.',
    );
  }
  if (error instanceof StoreUnavailableError) {
    return storeUnavailable('The request was not processed, because its key could not be checked.');
  }
  return undefined;
}
