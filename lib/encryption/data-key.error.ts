import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';

/** The data key of a scope could not be wrapped or unwrapped. Fail closed: nothing of the scope runs. */
export class DataKeyError extends StoreUnavailableError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DataKeyError';
  }
}
