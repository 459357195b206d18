import { Injectable, SetMetadata, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { IdempotencyConfigurationError } from '../idempotency.errors.js';

const RECONCILER = Symbol('nestjs-atomic-idempotency:reconciler');

/** A foreign call whose outcome is not recorded. */
export interface DoubtfulEffect {
  /** The phase that made the call. */
  recoveryPoint: string;
  /** The key under which the other system may know the call. */
  idempotencyKey: string;
  /** What `request` was when the call was first made. */
  request: unknown;
  /** When the call was first made, on the database's clock. */
  startedAt: Date;
}

/**
 * What became of it. A payment that exists but was declined is executed, with
 * that result. `not_executed` is a promise that the call will not take effect
 * later either: if the other system might still be busy with it, the answer is
 * `unknown`.
 */
export type Reconciliation =
  { outcome: 'executed'; result: unknown } | { outcome: 'not_executed' } | { outcome: 'unknown' };

/** What a method answers is only known when it has answered. */
export function isReconciliation(answer: unknown): answer is Reconciliation {
  const outcome = (answer as Partial<Reconciliation> | undefined | null)?.outcome;
  return outcome === 'executed' || outcome === 'not_executed' || outcome === 'unknown';
}

export type ReconcilerMethod = (effect: DoubtfulEffect) => Promise<Reconciliation> | Reconciliation;

/**
 * Marks a provider's method as the one to ask what became of the foreign call
 * of a phase with `inDoubt: 'reconcile'`. It looks the effect key up in the
 * other system and must not change anything there.
 */
export function Reconciler(
  recoveryPoint: string,
): (
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<ReconcilerMethod>,
) => void {
  return SetMetadata(RECONCILER, recoveryPoint);
}

/** The reconcilers of the application, found at boot. */
@Injectable()
export class Reconcilers {
  private readonly methods = new Map<string, ReconcilerMethod>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  explore(): void {
    // A provider with an alias (useExisting) is one object under two tokens.
    const seen = new Set<unknown>();
    for (const provider of this.discovery.getProviders()) {
      const { instance, metatype } = provider as { instance: unknown; metatype: Type | null };
      if (!instance || typeof instance !== 'object' || seen.has(instance)) continue;
      seen.add(instance);
      const methods = instance as Record<string, unknown>;
      for (const name of this.scanner.getAllMethodNames(
        Object.getPrototypeOf(instance) as object,
      )) {
        const method = methods[name];
        if (typeof method !== 'function') continue;
        const recoveryPoint = Reflect.getMetadata(RECONCILER, method) as string | undefined;
        if (recoveryPoint === undefined) continue;
        const where = `@Reconciler('${recoveryPoint}') of ${metatype?.name ?? 'a provider'}.${name}`;
        if (!provider.isDependencyTreeStatic()) {
          throw new IdempotencyConfigurationError(
            `${where}: the provider is made anew for each request, but a reconciler is also asked when there is none. Give it the default scope.`,
          );
        }
        if (this.methods.has(recoveryPoint)) {
          throw new IdempotencyConfigurationError(
            `${where}: another method is already the reconciler of this recovery point. Keep one of them.`,
          );
        }
        this.methods.set(recoveryPoint, (effect) =>
          (method as ReconcilerMethod).call(instance, effect),
        );
      }
    }
  }

  find(recoveryPoint: string): ReconcilerMethod | undefined {
    return this.methods.get(recoveryPoint);
  }
}
