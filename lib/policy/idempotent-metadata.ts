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
