import { OutcomeOpen } from '../keys/refusal.js';
import { PROBLEMS, type IdempotencyProblem, type ProblemCode } from '../answers/problems.js';

const problems = new WeakMap<IdempotencyRefusedError, IdempotencyProblem>();

/** The problem that an HTTP request would have got. */
export function problemBehind(error: IdempotencyRefusedError): IdempotencyProblem {
  return problems.get(error)!;
}

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
  /** Of an unknown outcome: the next call goes on with the work, and so finds out. */
  readonly open: boolean;

  constructor(problem: IdempotencyProblem, what: string, options?: ErrorOptions) {
    super(`${what} was refused (${problem.code}): ${problem.detail}`, options);
    this.name = 'IdempotencyRefusedError';
    this.code = problem.code;
    this.retryable = PROBLEMS[problem.code].retryable;
    this.retryAfter = problem.retryAfter;
    this.open = problem instanceof OutcomeOpen;
    problems.set(this, problem);
  }
}
