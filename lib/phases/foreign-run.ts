import { Logger } from '@nestjs/common';
import { isNotExecuted, type RunningEffect } from '../client/effect.js';
import { faultPoint, SimulatedFailure } from '../faults/fault-points.js';
import { fromJson } from '../schema/json.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import { errorLine } from '../telemetry/error-line.js';
import { inSpan, type SpanStart } from '../telemetry/tracing.js';
import { leaveInDoubt } from './foreign-doubt.js';
import { ForeignIntent, type IntentTools } from './foreign-intent.js';
import { ForeignOutcome, type OutcomeTools } from './foreign-outcome.js';
import type { ForeignEffect, ForeignPhase } from './foreign-phase.js';
import type { PhasePlace } from './phase-transactions.js';
import type { Reconcilers, Reconciliation } from './reconciler.js';
import { definiteNo, rejectionFrom } from './rejection.js';
import { runningPhase, sendAgain, type RunningPhase } from './running-phase.js';

/** What phases are recorded and asked about with. Fakes for unit tests fill it in memory. */
export type ForeignRunTools = IntentTools &
  OutcomeTools & {
    reconcilers: Pick<Reconcilers, 'ask'>;
  };

/** How a call ended for its caller. */
type CallEnd<R> = { result: R } | { error: unknown };

/**
 * One foreign phase in one attempt: intent, call, outcome. Nothing foreign
 * happens inside a transaction, and nothing happens before its intent is
 * committed, so after a crash at any point, the intent shows that the call is in
 * doubt.
 */
export class ForeignRun<R, T> {
  private static readonly logger = new Logger('AtomicPhase');
  private readonly intent: ForeignIntent;
  private readonly outcome: ForeignOutcome<R, T>;
  /** No earlier attempt's call took effect, for certain. */
  private cleared = false;

  constructor(
    private readonly tools: ForeignRunTools,
    private readonly place: PhasePlace,
    private readonly phase: ForeignPhase<R, T>,
    request: string | undefined,
    keyValidFor: number | null,
    private readonly earlier: PhaseRecord | undefined,
  ) {
    this.intent = new ForeignIntent(tools, place, phase, request, keyValidFor, earlier);
    this.outcome = new ForeignOutcome(tools, place, phase, earlier);
  }

  async run(): Promise<unknown> {
    switch (this.earlier?.state) {
      case 'finished':
        return fromJson(this.earlier.result);
      case 'rejected':
        throw rejectionFrom(this.earlier.result);
      case 'reconciled':
        return this.outcome.record(fromJson(this.earlier.result) as R);
      case 'intended': {
        const known = await this.clearUp();
        if (known) return this.outcome.record(known.result);
      }
    }
    await this.intent.commit();
    const called = await this.call();
    const after = this.afterCall('error' in called);
    const ended = after ? await this.unlessLost(called, after) : called;
    const known = 'error' in ended ? await this.assess(ended.error) : ended;
    return this.outcome.record(known.result);
  }

  /**
   * An earlier attempt left the call in doubt: what is known about it now?
   * Undefined: make the call (again).
   */
  private async clearUp(): Promise<{ result: R } | undefined> {
    const { inDoubt = 'stop' } = this.phase;
    if (inDoubt === 'repeat' && !this.earlier?.keyForgotten) return undefined;
    if (inDoubt !== 'reconcile') throw leaveInDoubt(this.place, false);
    const reconciliation = await this.reconcile();
    if (reconciliation.outcome === 'executed') return { result: reconciliation.result as R };
    if (reconciliation.outcome === 'rejected')
      throw await this.outcome.reject(reconciliation.error);
    if (reconciliation.outcome === 'unknown') throw leaveInDoubt(this.place, false);
    this.cleared = true;
    return undefined;
  }

  private async call(): Promise<CallEnd<R>> {
    const { attempt, name, journal } = this.place;
    const effect = {
      idempotencyKey: this.intent.effectKey,
      request: this.intent.storedRequest,
      attempt: attempt?.number ?? 1,
      signal: attempt?.signal ?? new AbortController().signal,
    };
    const shown = this.shownEffect(effect);
    const running: RunningPhase = { journal, name, kind: 'foreign', requests: 0, effect: shown };
    const call = () =>
      inSpan(
        () => this.describeCall(),
        () => this.phase.call(effect),
      );
    try {
      return { result: await runningPhase.run(running, call) };
    } catch (error) {
      return { error };
    } finally {
      running.effect = undefined;
    }
  }

  /** What a client of this package is told that is called in this phase. */
  private shownEffect({ idempotencyKey: key, attempt, signal }: ForeignEffect): RunningEffect {
    return { key, attempt, signal, inDoubt: !this.isFresh(), again: sendAgain };
  }

  private describeCall(): SpanStart {
    const { name } = this.place;
    const attributes = {
      'idempotency.phase': name,
      'idempotency.effect_key': this.intent.effectKey,
    };
    return { name: `call ${name}`, kind: 'client', attributes };
  }

  /** A promise has to be awaited. */
  private afterCall(callFailed: boolean): Promise<void> | undefined {
    const { attempt, name } = this.place;
    const { effectKey } = this.intent;
    return attempt && faultPoint('after_call', attempt, { name, effectKey, callFailed });
  }

  /** A test may have the outcome of a call get lost on its way. */
  private async unlessLost(ended: CallEnd<R>, reached: Promise<void>): Promise<CallEnd<R>> {
    try {
      await reached;
      return ended;
    } catch (error) {
      if (error instanceof SimulatedFailure) return { error };
      throw error;
    }
  }

  /** The call threw: it was rejected, certainly not executed, reconciled, or is in doubt. */
  private async assess(error: unknown): Promise<{ result: R }> {
    if (this.isFresh() && this.neverExecuted(error)) {
      await this.outcome.withdraw();
      throw error;
    }
    const no = definiteNo(error);
    if (no) throw await this.outcome.reject(no);
    const { inDoubt = 'stop' } = this.phase;
    if (inDoubt === 'reconcile' && this.place.attempt) {
      const reconciliation = await this.reconcile();
      if (reconciliation.outcome === 'executed') return { result: reconciliation.result as R };
      if (reconciliation.outcome === 'rejected')
        throw await this.outcome.reject(reconciliation.error);
      if (reconciliation.outcome === 'not_executed') {
        await this.outcome.withdraw();
        throw error;
      }
    }
    throw leaveInDoubt(this.place, inDoubt === 'repeat', error);
  }

  /** A refused connection now says nothing about what an earlier attempt's call did. */
  private isFresh(): boolean {
    return this.earlier?.state !== 'intended' || this.cleared;
  }

  private neverExecuted(error: unknown): boolean {
    try {
      return isNotExecuted(error) || this.phase.notExecuted?.(error) === true;
    } catch (failure) {
      ForeignRun.logger.error(
        `notExecuted of phase "${this.place.name}" threw and counts as false: ${errorLine(failure)}`,
      );
      return false;
    }
  }

  private reconcile(): Promise<Reconciliation> {
    return this.tools.reconcilers.ask({
      recoveryPoint: this.place.name,
      idempotencyKey: this.intent.effectKey,
      request: this.intent.storedRequest,
      startedAt: this.intent.startedAt ?? new Date(),
    });
  }
}
