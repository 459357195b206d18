import type { ProblemCode } from './problems.js';

/** A refusal by the library, as a dialect gets it. */
export interface DescribedProblem {
  /** Stable, for programs: `key_reused`, for example. */
  code: ProblemCode;
  /** A URI: in your `specification` if that option is set. */
  type: string;
  /** The status of the IETF dialect. */
  status: number;
  /** The same for all problems of a code. */
  title: string;
  /** A sentence for the client's developer about this occurrence. */
  detail: string;
  /** The same request may be sent again, under the same key. */
  retryable: boolean;
  /** Whole seconds until a retry is worth it. */
  retryAfter?: number;
  /** Further facts, such as `original_status`. */
  members: Record<string, unknown>;
}

/** The answer that your own dialect returns for a problem. */
export interface ProblemAnswer {
  /**
   * From 400 to 599.
   * @default the problem's
   */
  status?: number;
  /** `Retry-After` and `Cache-Control: no-store` are added where they are missing. */
  headers?: Record<string, string>;
  /** A string or a Buffer is sent as it is, everything else as JSON. */
  body?: unknown;
}

export type NamedDialect = 'ietf' | 'stripe';

/**
 * A function has to be synchronous. If it throws, or returns something that
 * cannot be sent, the client gets the IETF problem document, and the log says
 * why.
 */
export type Dialect = NamedDialect | ((problem: DescribedProblem) => ProblemAnswer);
