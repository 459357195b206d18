import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { isIdempotent, isSafe, methodName } from './http-methods.js';
import type { IdempotencyPolicy } from './policy.js';

// Shared with other copies of the package: the command line reads what the application's copy wrote.
const POLICY = Symbol.for('nestjs-atomic-idempotency:policy');
const COVERED = Symbol.for('nestjs-atomic-idempotency:covered');
const EXEMPT = Symbol.for('nestjs-atomic-idempotency:exempt');

/** Stores the policy that `@Idempotent()` gives to a class or a handler. */
export function setPolicy(target: object, policy: IdempotencyPolicy): void {
  Reflect.defineMetadata(POLICY, policy, target);
}

/** The policy of a handler, or of a class or its nearest decorated parent. */
export function policyOf(target: object): IdempotencyPolicy | undefined {
  return Reflect.getMetadata(POLICY, target) as IdempotencyPolicy | undefined;
}

/** Whether this class itself has `@Idempotent()`, and not only a parent. */
export function hasOwnPolicy(target: object): boolean {
  return Reflect.hasOwnMetadata(POLICY, target);
}

/** Whether a handler is idempotent, by its own decorator or its class's. */
export function isCovered(handler: object): boolean {
  return Reflect.hasOwnMetadata(COVERED, handler);
}

export function markCovered(handler: object): void {
  Reflect.defineMetadata(COVERED, true, handler);
}

/** Notes why a class or a handler needs no `@Idempotent()`. */
export function setExempt(target: object, reason: string): void {
  Reflect.defineMetadata(EXEMPT, reason, target);
}

/** Why a class or a handler needs none; undefined where nobody said so. */
export function exemptionOf(target: object): string | undefined {
  return Reflect.getMetadata(EXEMPT, target) as string | undefined;
}

/** Whether `@NotIdempotent()` stands on this very handler. */
export function hasOwnExemption(target: object): boolean {
  return Reflect.hasOwnMetadata(EXEMPT, target);
}

/**
 * Whether a class-level `@Idempotent()` covers this handler: it does for methods
 * that are not idempotent by HTTP's own rules, and for `@All()`, which includes
 * such methods.
 */
export function isForClass(handler: object): boolean {
  const method = methodName(Reflect.getMetadata(METHOD_METADATA, handler));
  return (
    Reflect.hasMetadata(PATH_METADATA, handler) &&
    method !== undefined &&
    !isSafe(method) &&
    !isIdempotent(method)
  );
}
