/** A mistake in the set-up, found at boot. The message names the option and the cure. */
export class IdempotencyConfigurationError extends Error {
  constructor(message: string) {
    super(`IdempotencyModule: ${message}`);
    this.name = 'IdempotencyConfigurationError';
  }
}
