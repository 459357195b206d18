import { PROBLEMS, type IdempotencyProblem, type ProblemCode } from '../answers/problems.js';

/**
 * The work was not run, or its outcome could not be recorded. `code` says why, as
 * the answers to HTTP requests do.
 */
export class IdempotencyRefusedError extends Error {
  readonly code: ProblemCode;
  /** Calling again with the same key is worth it. */
  readonly retryable: boolean;
  /** Seconds until then. */
  readonly retryAfter: number | undefined;

  constructor(
    /** As HTTP requests get it. */
    readonly problem: IdempotencyProblem,
    what: string,
    options?: ErrorOptions,
  ) {
    super(`${what} was refused (${problem.code}): ${problem.detail}`, options);
    this.name = 'IdempotencyRefusedError';
    this.code = problem.code;
    this.retryable = PROBLEMS[problem.code].retryable;
    this.retryAfter = problem.retryAfter;
  }
}
