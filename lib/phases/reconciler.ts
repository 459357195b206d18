import { HttpException, Injectable, Logger, SetMetadata } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { errorLine } from '../telemetry/error-line.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { decoratedMethods } from '../policy/decorated-methods.js';

const RECONCILER = Symbol('nestjs-atomic-idempotency:reconciler');

/** A foreign call whose outcome is not recorded. */
export interface DoubtfulEffect {
  /** The phase that made the call. */
  recoveryPoint: string;
  /** The key under which the other system may know the call. */
  idempotencyKey: string;
  /** The `request` that was stored when the call was first made. */
  request: unknown;
  /** When the call was made, on the database's clock. If it was made several times, the last one. */
  startedAt: Date;
}

/**
 * The outcome of a call. A payment that exists but was declined is `executed`,
 * with that result, or `rejected`, if the call would have thrown that exception.
 * `not_executed` promises that the call will not take effect later either: if the
 * other system might still be processing it, the answer is `unknown`.
 */
export type Reconciliation =
  | { outcome: 'executed'; result: unknown }
  | { outcome: 'rejected'; error: HttpException }
  | { outcome: 'not_executed' }
  | { outcome: 'unknown' };

/** A method's answer is checked at run time. */
export function isReconciliation(answer: unknown): answer is Reconciliation {
  const { outcome, error } = (answer ?? {}) as { outcome?: unknown; error?: unknown };
  if (outcome === 'rejected') return error instanceof HttpException;
  return outcome === 'executed' || outcome === 'not_executed' || outcome === 'unknown';
}

/** What is wrong with an answer, without its content, which may be a user's data. */
export function kindOfAnswer(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) {
    return answer === undefined || answer === null ? String(answer) : `a ${typeof answer}`;
  }
  const { outcome } = answer as { outcome?: unknown };
  if (outcome === 'rejected')
    return "{ outcome: 'rejected' } without an HttpException as its error";
  return outcome === undefined ? 'an object without an outcome' : 'an object with another outcome';
}

export type ReconcilerMethod = (effect: DoubtfulEffect) => Promise<Reconciliation> | Reconciliation;

/**
 * Makes a provider's method the reconciler of a phase, which finds out what
 * became of its foreign call. A retry asks it if the phase has
 * `inDoubt: 'reconcile'`, and the reconciler job asks it as long as the key is
 * `unknown`. It looks up the effect key in the other system and must not change
 * anything there.
 */
export function Reconciler(
  recoveryPoint: string,
): <M extends ReconcilerMethod>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return SetMetadata(RECONCILER, recoveryPoint);
}

/** The reconcilers of the application, found at boot. */
@Injectable()
export class Reconcilers {
  private static readonly logger = new Logger('AtomicPhase');
  private readonly methods = new Map<string, ReconcilerMethod>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  explore(): void {
    for (const { mark, call, where } of decoratedMethods(
      this.discovery,
      this.scanner,
      RECONCILER,
    )) {
      if (this.methods.has(mark)) {
        throw new IdempotencyConfigurationError(
          `@Reconciler('${mark}') of ${where}: another method is already the reconciler of this recovery point. Keep one of them.`,
        );
      }
      this.add(mark, call as ReconcilerMethod);
    }
  }

  add(recoveryPoint: string, method: ReconcilerMethod): void {
    this.methods.set(recoveryPoint, method);
  }

  /** What the method itself answers, whatever that is; undefined where there is none. */
  method(recoveryPoint: string): ((effect: DoubtfulEffect) => unknown) | undefined {
    return this.methods.get(recoveryPoint);
  }

  /** The phases that have a reconciler in this process. */
  get recoveryPoints(): string[] {
    return [...this.methods.keys()];
  }

  /** Asks what became of a call. An invalid answer leaves the outcome unknown. */
  async ask(effect: DoubtfulEffect): Promise<Reconciliation> {
    const { recoveryPoint: name } = effect;
    const { logger } = Reconcilers;
    const reconciler = this.methods.get(name);
    if (!reconciler) {
      logger.error(
        `Phase "${name}" says inDoubt: 'reconcile', but there is no @Reconciler('${name}'), so its outcome stays unknown. Add one to a provider.`,
      );
      return { outcome: 'unknown' };
    }
    try {
      const answer: unknown = await reconciler(effect);
      if (isReconciliation(answer)) return answer;
      logger.error(
        `@Reconciler('${name}') answered ${kindOfAnswer(answer)}, so the outcome stays unknown. ` +
          "Answer { outcome: 'executed', result }, { outcome: 'rejected', error } with an HttpException, { outcome: 'not_executed' } or { outcome: 'unknown' }.",
      );
    } catch (error) {
      logger.error(
        `@Reconciler('${name}') threw, so the outcome stays unknown: ${errorLine(error)}`,
      );
    }
    return { outcome: 'unknown' };
  }
}
