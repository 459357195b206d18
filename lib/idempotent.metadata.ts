import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import type { IdempotencyPolicy } from './idempotency.options.js';

const POLICY = Symbol('nestjs-atomic-idempotency:policy');
const COVERED = Symbol('nestjs-atomic-idempotency:covered');

/** The methods that a class-level `@Idempotent()` covers: HTTP does not make these idempotent by itself. */
const COVERED_BY_CLASS: readonly unknown[] = [RequestMethod.POST, RequestMethod.PATCH];

/** Notes what `@Idempotent()` said about a class or a handler. */
export function setPolicy(target: object, policy: IdempotencyPolicy): void {
  Reflect.defineMetadata(POLICY, policy, target);
}

/** The policy of a handler, or of a class or the nearest of its parents. */
export function policyOf(target: object): IdempotencyPolicy | undefined {
  return Reflect.getMetadata(POLICY, target) as IdempotencyPolicy | undefined;
}

/** Whether a handler is idempotent, by its own decorator or its class's. */
export function isCovered(handler: object): boolean {
  return Reflect.hasOwnMetadata(COVERED, handler);
}

export function markCovered(handler: object): void {
  Reflect.defineMetadata(COVERED, true, handler);
}

/** Whether a class-level `@Idempotent()` is meant for this handler. */
export function isForClass(handler: object): boolean {
  return (
    Reflect.hasMetadata(PATH_METADATA, handler) &&
    COVERED_BY_CLASS.includes(Reflect.getMetadata(METHOD_METADATA, handler))
  );
}
