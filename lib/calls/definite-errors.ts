/** The errors by which a transport gives definite answers, as far as they can be kept. */
export interface DefiniteErrors {
  /** Its name in what is stored. */
  readonly name: string;
  /**
   * The HTTP status that an error is like, which decides whether it is final, and what
   * is kept of it. Undefined: it is not one of these.
   */
  keep(error: unknown): { status: number; kept: unknown } | undefined;
  /** The error again, for a replay. */
  revive(kept: unknown): unknown;
}
