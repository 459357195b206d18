/** The store did not answer, or not in time. Fail closed: nothing may run on its account. */
export class StoreUnavailableError extends Error {
  constructor(
    message: string,
    options: {
      cause?: unknown;
      /**
       * Settles when the statement is over after all. Until then nobody can
       * know whether it will take effect. Undefined where it was not sent and
       * never will be, so that there is nothing to clear up.
       */
      late?: Promise<unknown>;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'StoreUnavailableError';
    // Hidden, or a logger that shows properties would show what the promise holds.
    Object.defineProperty(this, 'late', { value: options.late });
  }

  declare readonly late: Promise<unknown> | undefined;
}
