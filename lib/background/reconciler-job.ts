import { Logger } from '@nestjs/common';
import type { ClaimedUnknown, ReconcilerStore } from './reconciler-store.js';
import type { ResolutionStore } from '../resolution/resolution-store.js';
import { resolvedPhase, type ResolvedPhase } from '../resolution/resolved-phase.js';
import { errorLine } from '../telemetry/error-line.js';
import { ofKey } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';
import { inSpan } from '../telemetry/tracing.js';
import { fromJson } from '../schema/json.js';
import type { Reconcilers, Reconciliation } from '../phases/reconciler.js';
import { ReportedOnce } from '../telemetry/reported-once.js';
import { backoff } from '../postgres/backoff.js';

/** How long one question may take. A longer one counts as unanswered. */
const PATIENCE = 30_000;

/** How long a claim keeps other processes from asking: much longer than the longest question. */
const CLAIM = 2 * PATIENCE;

/** The first pause after an unanswered question; it doubles for each further one. */
const FIRST_PAUSE = 30_000;

/** Ten attempts take about four hours; a longer outage is for people. */
const LONGEST_PAUSE = 2 * 3_600_000;

/**
 * Asks the phase's `@Reconciler()` about unknown outcomes, with growing pauses,
 * and leaves to people what it cannot find out.
 */
export class ReconcilerJob {
  private readonly logger = new Logger('IdempotencyMaintenance');
  private readonly reported = new ReportedOnce();
  /** For each open question: a function that ends the wait. */
  private readonly asking = new Set<() => void>();
  private runs = 0;
  private closing: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: ReconcilerStore,
    private readonly resolutions: ResolutionStore,
    private readonly reconcilers: Reconcilers,
    private readonly maxAttempts: number,
    /** There is something to complete. */
    private readonly released: () => void,
    private readonly patience = PATIENCE,
  ) {}

  async run(batch: number): Promise<number> {
    this.runs += 1;
    try {
      return await this.lookAround(batch);
    } finally {
      this.runs -= 1;
      // It would keep the closed application in memory until it fires.
      if (this.runs === 0) clearTimeout(this.closing);
    }
  }

  /** A question without an answer by then is asked by another process, or after the restart. */
  async close(timeout: number): Promise<void> {
    if (this.runs === 0) return;
    this.closing = setTimeout(() => {
      for (const giveUp of this.asking) giveUp();
    }, timeout).unref();
  }

  private async lookAround(batch: number): Promise<number> {
    const { recoveryPoints } = this.reconcilers;
    await this.reportUnaskable(recoveryPoints);
    const claimed = await this.store.claim(recoveryPoints, CLAIM, batch);
    const looks = await Promise.allSettled(claimed.map((key) => this.look(key)));
    for (const look of looks) if (look.status === 'rejected') throw look.reason;
    return claimed.length;
  }

  private async look(key: ClaimedUnknown): Promise<void> {
    if (key.phase === null && key.lastErrorCode === 'in_doubt') {
      if (await this.store.hasRecordedCall(key)) return this.release(key);
    }
    if (key.phase === null) {
      await this.store.postpone(key, null);
      noteFailure(key, true);
      this.logger.warn(
        `The outcome of idempotency key ${key.id} is unknown (${key.lastErrorCode}), and there is no recorded foreign call to ask about. ` +
          'Find out what happened and record it with IdempotencyOperator.resolveKey().',
      );
      return;
    }
    if (key.fault) {
      this.logger.error(
        `The outcome of idempotency key ${key.id} is unknown, and its reconciler could not be asked: ${errorLine(key.fault)}`,
      );
      return this.giveTime(key);
    }
    const answer = await inSpan(
      () => describeQuestion(key),
      () => this.ask(key),
    );
    const found = settle(answer, key.phase, this.logger);
    if (found) await this.resolve(key, found);
    else await this.giveTime(key);
  }

  /** Undefined if there is no answer in time. */
  private async ask(key: ClaimedUnknown): Promise<Reconciliation | undefined> {
    const { phase, effectKey, request, startedAt } = key;
    const answer = this.reconcilers.ask({
      recoveryPoint: phase!,
      idempotencyKey: effectKey!,
      request: fromJson(request ?? undefined),
      startedAt: startedAt!,
    });
    let giveUp!: () => void;
    const givenUp = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
    const timer = setTimeout(() => {
      this.logger.error(`@Reconciler('${phase}') did not answer within ${this.patience / 1000} s.`);
      giveUp();
    }, this.patience);
    this.asking.add(giveUp);
    try {
      return await Promise.race([answer, givenUp]);
    } finally {
      clearTimeout(timer);
      this.asking.delete(giveUp);
    }
  }

  private async resolve(key: ClaimedUnknown, found: ResolvedPhase): Promise<void> {
    const seen = { ...key, phase: key.phase!, phaseState: 'intended' } as const;
    const resolved = await this.resolutions.resolvePhase(seen, found, { who: 'reconciler' });
    if (!resolved) return; // Somebody else resolved it first.
    this.logger.log(
      `The outcome of idempotency key ${key.id} is known: phase "${key.phase}" is ${found.state}.`,
    );
    this.released();
  }

  /** The outcome of its call was recorded after all: nothing is in doubt. */
  private async release(key: ClaimedUnknown): Promise<void> {
    const why = 'The call that was in doubt is on record with its outcome.';
    const actor = { who: 'reconciler', why };
    const seen = { ...key, phaseState: null };
    if (!(await this.resolutions.makeRetryable(seen, actor))) return;
    this.logger.log(`The outcome of idempotency key ${key.id} is known: ${why}`);
    this.released();
  }

  private async giveTime(key: ClaimedUnknown): Promise<void> {
    if (key.reconcileAttempts < this.maxAttempts) {
      await this.store.postpone(key, backoff(key.reconcileAttempts, FIRST_PAUSE, LONGEST_PAUSE));
      noteFailure(key, false);
      return;
    }
    await this.store.postpone(key, null, 'reconciliation_exhausted');
    noteFailure(key, true);
    this.logger.error(
      `The outcome of idempotency key ${key.id} is still unknown after ${key.reconcileAttempts} questions, and no further one is asked. ` +
        `Find out what became of the call of phase "${key.phase}" and record it with IdempotencyOperator.resolve('${key.effectKey}', …).`,
    );
  }

  private async reportUnaskable(recoveryPoints: readonly string[]): Promise<void> {
    for (const { phase, count } of await this.store.unaskable(recoveryPoints)) {
      if (!this.reported.isNew(phase)) continue;
      this.logger.warn(
        `The outcome of ${count} idempotency key(s) is unknown at phase "${phase}", and this process has no @Reconciler('${phase}') to ask. ` +
          'Add one, or find out what happened and record it with IdempotencyOperator.resolve().',
      );
    }
  }
}

function noteFailure(key: ClaimedUnknown, leftToPeople: boolean): void {
  publish('reconciliation_failed', () => ({
    ...ofKey(key),
    phase: key.phase ?? undefined,
    leftToPeople,
  }));
}

function describeQuestion({ phase, id, traceparent }: ClaimedUnknown) {
  const attributes = { 'idempotency.phase': phase!, 'idempotency.key.id': id };
  return { name: `reconcile ${phase}`, attributes, origin: traceparent, detached: true };
}

/** Undefined: the outcome is still unknown, or its result cannot be stored. */
function settle(
  answer: Reconciliation | undefined,
  phase: string,
  logger: Logger,
): ResolvedPhase | undefined {
  if (answer === undefined || answer.outcome === 'unknown') return undefined;
  try {
    return resolvedPhase(answer, phase);
  } catch (error) {
    logger.error(
      `What @Reconciler('${phase}') answered cannot be stored, so the outcome stays unknown: ${errorLine(error)}`,
    );
    return undefined;
  }
}
