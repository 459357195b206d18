import { OWN_WORDS } from '../telemetry/own-words.js';

/** The store did not answer, or not in time. Fail closed: no handler may run. */
export class StoreUnavailableError extends Error {
  get [OWN_WORDS](): true {
    return true;
  }

  constructor(
    message: string,
    options: {
      cause?: unknown;
      /**
       * Settles when the statement has ended. Until then nobody can know whether
       * it will take effect. Undefined if it was never sent, so that there is
       * nothing to clean up.
       */
      late?: Promise<unknown>;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'StoreUnavailableError';
    // Not enumerable, or a logger that prints properties would print what the promise holds.
    Object.defineProperty(this, 'late', { value: options.late });
  }

  declare readonly late: Promise<unknown> | undefined;
}
