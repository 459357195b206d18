import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { setExempt } from '../policy/idempotent-metadata.js';

/**
 * Says that a handler, or every handler of a class, needs no key, and why: "only
 * reads, the body is a long query". The coverage audit then lists it as exempt.
 */
export function NotIdempotent(reason: string): ClassDecorator & MethodDecorator {
  if (typeof reason !== 'string' || reason.trim() === '') {
    throw new IdempotencyConfigurationError(
      "@NotIdempotent() needs a reason, for whoever reads the audit, such as @NotIdempotent('only reads; the body is a long query').",
    );
  }
  return (target: object, _property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    setExempt((descriptor?.value as object | undefined) ?? target, reason);
  };
}
