import { inspect } from 'node:util';
import type { CanActivate, Type } from '@nestjs/common';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';

/** The options of the status route. */
export interface StatusOptions {
  statusPath?: string;
  statusGuards?: (CanActivate | Type<CanActivate>)[];
}

/** Refuses options that would give no route, or one that nobody can reach. */
export function checkStatusOptions({ statusPath, statusGuards }: StatusOptions): void {
  if (statusPath !== undefined && (typeof statusPath !== 'string' || !/[^/]/.test(statusPath))) {
    throw new IdempotencyConfigurationError(
      `statusPath is ${inspect(statusPath)}. Use a path of its own, such as 'operations'.`,
    );
  }
  if (statusGuards === undefined) return;
  if (statusPath === undefined) {
    throw new IdempotencyConfigurationError(
      "statusGuards is given without statusPath, so there is no route to guard. Add statusPath: 'operations', or remove it.",
    );
  }
  const guards: unknown = statusGuards;
  if (!Array.isArray(guards) || !guards.every(isGuard)) {
    throw new IdempotencyConfigurationError(
      `statusGuards is ${inspect(guards, { depth: 1 })}. Use a list of guards, such as [AuthGuard].`,
    );
  }
}

export function isGuard(guard: unknown): boolean {
  const prototype = typeof guard === 'function' ? (guard.prototype as unknown) : guard;
  return typeof (prototype as CanActivate | null | undefined)?.canActivate === 'function';
}
