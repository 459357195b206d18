import { IntrinsicException } from '@nestjs/common';
import { PROBLEMS, type IdempotencyProblem, type ProblemCode } from '../answers/problems.js';

/**
 * A mutation was not run, or its outcome could not be recorded. Whatever executes the
 * operation turns it into a GraphQLError with these `extensions`. It is intrinsic, as an
 * HttpException is: Nest does not log it as an error of the application.
 */
export class MutationRefusedError extends IntrinsicException {
  readonly code: ProblemCode;
  /** What the client gets, besides the message. */
  readonly extensions: Record<string, unknown>;

  constructor(problem: IdempotencyProblem, options?: ErrorOptions) {
    super(problem.detail, options);
    const { code, retryAfter, members } = problem;
    const { title, retryable } = PROBLEMS[code];
    this.name = 'MutationRefusedError';
    this.code = code;
    this.extensions = {
      code,
      title,
      retryable,
      ...(retryAfter !== undefined && { retryAfter }),
      ...members,
    };
  }
}
