import { markAnswered, markNotExecuted } from './effect.js';
import type { ProblemCode } from './problem-codes.js';

/** The operation that an error is about. */
export interface FailedOperation {
  /** The key that was used. The same operation goes on under it, and under no other. */
  key: string;
  /** The name of the operation, if it was given one. */
  operation?: string | undefined;
  /** How often the request was sent under this key. */
  attempts: number;
  /** The last answer, if there was one. Its body can be read. */
  response?: Response | undefined;
}

/** What the client's own errors have in common. */
export abstract class IdempotentFetchError extends Error implements FailedOperation {
  readonly key: string;
  readonly operation: string | undefined;
  readonly attempts: number;
  readonly response: Response | undefined;

  constructor(message: string, failed: FailedOperation, cause?: unknown) {
    super(message, { cause });
    ({ key: this.key, operation: this.operation, attempts: this.attempts } = failed);
    this.response = failed.response;
  }
}

const REASONS = {
  outcome_unknown: 'the server does not know it yet',
  given_up: 'the server has given the operation up until somebody looks at it',
  timeout: 'there was no time left',
  retries: 'all retries failed',
  budget: 'too many requests to this host fail, so it is spared',
  expires: 'the server may have forgotten the key',
  refused: 'a retry was refused, which says nothing about the request before it',
};

/** Why the client stopped asking. */
export type UnknownReason = keyof typeof REASONS;

/**
 * The request may have taken effect, or may still. Call again for the same
 * operation, or with the same key, to find out.
 */
export class OutcomeUnknownError extends IdempotentFetchError {
  override readonly name = 'OutcomeUnknownError';

  constructor(
    readonly reason: UnknownReason,
    failed: FailedOperation,
    cause?: unknown,
  ) {
    super(
      `The outcome is not known: ${REASONS[reason]}. ` +
        'Go on with the same operation or key; a new key could make it happen twice.',
      failed,
      cause,
    );
  }
}

/** The request certainly had no effect: no attempt has reached the server. */
export class NotExecutedError extends IdempotentFetchError {
  override readonly name = 'NotExecutedError';

  constructor(failed: FailedOperation, cause: unknown) {
    super('The server was not reached, so nothing happened.', failed, cause);
    markNotExecuted(this);
  }
}

/** The key or the request cannot be used. Sending it again will not help, and a new key is your decision. */
export class RequestRefusedError extends IdempotentFetchError {
  override readonly name = 'RequestRefusedError';

  /** How the operation ended whose answer was not kept, with `response_unavailable`. */
  readonly originalStatus: number | undefined;

  constructor(
    readonly code: ProblemCode,
    /** What the server says about it. */
    problem: unknown,
    failed: FailedOperation,
  ) {
    const { error, ...body } = (problem ?? {}) as Told & { error?: Told };
    const { detail, message, original_status: status } = error ?? body;
    super(`${code}: ${detail ?? message ?? 'the server gives no reason'}`, failed);
    this.originalStatus = status;
  }
}

interface Told {
  detail?: string;
  message?: string;
  original_status?: number;
}

/** A definite answer that is no success: what `resultOf()` throws. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';

  constructor(
    readonly status: number,
    /** As JSON where it is JSON, else as text. */
    readonly body: unknown,
    readonly response: Response,
  ) {
    super(`The answer is ${status}.`);
    markAnswered(this, { status, body });
  }
}
