import { inspect } from 'node:util';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';

/** Refuses what is neither on nor off: the route has one address, so there is nothing else to say. */
export function checkDiscovery(discovery: unknown): void {
  if (typeof discovery === 'boolean') return;
  throw new IdempotencyConfigurationError(
    `discovery is ${inspect(discovery)}. Use true to serve /.well-known/idempotency, or leave it out.`,
  );
}
