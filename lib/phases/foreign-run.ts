import { randomUUID } from 'node:crypto';
import { Logger, ServiceUnavailableException, type HttpException } from '@nestjs/common';
import { isNotExecuted, type RunningEffect } from '../client/effect.js';
import { errorLine } from '../telemetry/error-line.js';
import { publish } from '../telemetry/publish.js';
import { inSpan, type SpanStart } from '../telemetry/tracing.js';
import {
  faultPoint,
  faultsAreObserved,
  SimulatedFailure,
  type FaultStep,
} from '../faults/fault-points.js';
import type { Attempt } from '../keys/attempt.js';
import {
  isConnectionLoss,
  isLockTimeout,
  isSerializationConflict,
} from '../postgres/database-errors.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { persist } from '../postgres/retries.js';
import type { ForeignEffect, ForeignPhase } from './foreign-phase.js';
import { fromJson } from '../schema/json.js';
import { LeaseLostError, OutcomeUnknownError, type StopReason } from '../policy/phase-errors.js';
import { OutcomeOnItsWay } from './outcome-on-its-way.js';
import type { PhaseJournal } from './phase-journal.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import { phaseResult } from './phase-result.js';
import { runningPhase, sendAgain, type RunningPhase } from './running-phase.js';
import type { PhaseBatches } from './phase-batches.js';
import type { Intent, RecordedEntry } from './phase-store.js';
import { definiteNo, rejectionFrom, rejectionOf } from './rejection.js';
import type { PhasePlace, PhaseTransactions } from './phase-transactions.js';
import type { Reconcilers, Reconciliation } from './reconciler.js';

/** What phases are recorded and asked about with. Fakes for unit tests fill it in memory. */
export interface ForeignRunTools {
  batches: Pick<PhaseBatches, 'record' | 'batching'>;
  transactions: Pick<PhaseTransactions, 'commit' | 'finish' | 'end'>;
  reconcilers: Pick<Reconcilers, 'ask'>;
  /** For a call that no earlier attempt has begun. @default a random one */
  newEffectKey?: (place: PhasePlace) => string;
}

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
  private readonly effectKey: string;
  /** No earlier attempt's call took effect, for certain. */
  private cleared = false;
  /** When the call was made, on the database's clock; of several, the last one. */
  private startedAt: Date | undefined;

  constructor(
    private readonly tools: ForeignRunTools,
    private readonly journal: PhaseJournal,
    private readonly place: PhasePlace,
    private readonly phase: ForeignPhase<R, T>,
    private readonly request: string | undefined,
    private readonly keyValidFor: number | null,
    private readonly earlier: PhaseRecord | undefined,
  ) {
    this.effectKey = earlier?.effectKey ?? tools.newEffectKey?.(place) ?? randomUUID();
    this.startedAt = earlier?.startedAt;
  }

  async run(): Promise<unknown> {
    switch (this.earlier?.state) {
      case 'finished':
        return fromJson(this.earlier.result);
      case 'rejected':
        throw rejectionFrom(this.earlier.result);
      case 'reconciled':
        return this.record(fromJson(this.earlier.result) as R);
      case 'intended': {
        const known = await this.clearUp();
        if (known) return this.record(known.result);
      }
    }
    await this.intend();
    const called = await this.call();
    const after = this.reach('after_call', 'error' in called);
    const ended = after ? await this.unlessLost(called, after) : called;
    const known = 'error' in ended ? await this.assess(ended.error) : ended;
    return this.record(known.result);
  }

  /**
   * An earlier attempt left the call in doubt: what is known about it now?
   * Undefined: make the call (again).
   */
  private async clearUp(): Promise<{ result: R } | undefined> {
    const { inDoubt = 'stop' } = this.phase;
    if (inDoubt === 'repeat' && !this.earlier?.keyForgotten) return undefined;
    if (inDoubt !== 'reconcile') throw this.doubt(false);
    const reconciliation = await this.reconcile();
    if (reconciliation.outcome === 'executed') return { result: reconciliation.result as R };
    if (reconciliation.outcome === 'rejected') throw await this.reject(reconciliation.error);
    if (reconciliation.outcome === 'unknown') throw this.doubt(false);
    this.cleared = true;
    return undefined;
  }

  /** Committed before the call, with the effect key it will be made under. */
  private async intend(): Promise<void> {
    const { attempt } = this.place;
    if (!attempt) return;
    const before = this.reach('before_intent');
    if (before) await before;
    const sent = performance.now();
    await this.commitIntent(attempt);
    const after = this.reach('after_intent');
    if (after) await after;
    // A process that stalled meanwhile may have lost the key, and somebody may have been told that
    // this call was never made. So it checks again.
    if (performance.now() - sent >= attempt.lease) await this.commitIntent(attempt);
  }

  private async commitIntent(attempt: Attempt): Promise<void> {
    const { name, position } = this.place;
    const { effectKey, request, keyValidFor } = this;
    const { inDoubt = 'stop' } = this.phase;
    const intent: Intent = {
      attempt,
      name,
      position,
      kind: 'foreign',
      state: 'intended',
      effectKey,
      inDoubt,
      keyValidFor,
      request,
    };
    const { onItsWay } = this.journal;
    this.journal.onItsWay = undefined;
    const intended = (await onItsWay?.carry(intent)) ?? (await this.commitAlone(attempt, intent));
    if (!intended) {
      attempt.loseLease();
      throw new LeaseLostError(name);
    }
    this.startedAt = intended.startedAt ?? undefined;
  }

  private commitAlone(attempt: Attempt, intent: Intent): Promise<RecordedEntry | undefined> {
    // Repeating it is harmless: the same attempt writes the same intent.
    return persist(
      () => this.tools.batches.record(intent),
      {
        within: attempt.lease,
        again: (error) =>
          isConnectionLoss(error) || isSerializationConflict(error) || isLockTimeout(error),
      },
      (error) => {
        throw this.unrecorded(error);
      },
    );
  }

  private async call(): Promise<CallEnd<R>> {
    const { attempt, name, journal } = this.place;
    const effect = {
      idempotencyKey: this.effectKey,
      request: fromJson(this.earlier ? this.earlier.request : this.request),
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

  private describeCall(): SpanStart {
    const { name } = this.place;
    const attributes = { 'idempotency.phase': name, 'idempotency.effect_key': this.effectKey };
    return { name: `call ${name}`, kind: 'client', attributes };
  }

  /** The call threw: it was rejected, certainly not executed, reconciled, or is in doubt. */
  private async assess(error: unknown): Promise<{ result: R }> {
    if (this.isFresh() && this.neverExecuted(error)) {
      await this.end('withdrawn');
      this.stop('not_executed');
      throw error;
    }
    const no = definiteNo(error);
    if (no) throw await this.reject(no);
    const { inDoubt = 'stop' } = this.phase;
    if (inDoubt === 'reconcile' && this.place.attempt) {
      const reconciliation = await this.reconcile();
      if (reconciliation.outcome === 'executed') return { result: reconciliation.result as R };
      if (reconciliation.outcome === 'rejected') throw await this.reject(reconciliation.error);
      if (reconciliation.outcome === 'not_executed') {
        await this.end('withdrawn');
        this.stop('not_executed');
        throw error;
      }
    }
    throw this.doubt(inDoubt === 'repeat', error);
  }

  /**
   * A rejection that cannot be stored would be missing on a resume, which would
   * then call again.
   */
  private rejection(error: HttpException): string | undefined {
    try {
      return rejectionOf(error, `The exception that ended phase "${this.place.name}"`);
    } catch (unstorable) {
      throw this.doubt(this.phase.inDoubt === 'repeat', unstorable);
    }
  }

  /** A definite rejection: a resume throws it again, without calling. */
  private async reject(error: HttpException): Promise<HttpException> {
    await this.end('rejected', this.rejection(error));
    return error;
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

  private record(result: R): unknown {
    return this.mayGoOn ? this.recordMeanwhile(result) : this.recordFirst(result);
  }

  /**
   * The handler may go on while the outcome is recorded: nothing takes effect until
   * its next phase. Not if somebody observes where a process could die: in a simulated
   * crash nothing may go on.
   */
  private get mayGoOn(): boolean {
    const { journal, phase, tools } = this;
    return journal.phased && !phase.record && tools.batches.batching && !faultsAreObserved();
  }

  private recordMeanwhile(result: R): unknown {
    const { attempt, name } = this.place;
    let json: string | undefined;
    try {
      json = phaseResult(name, result);
    } catch (error) {
      throw this.notRecorded(error);
    }
    if (attempt) {
      const onItsWay = new OutcomeOnItsWay(name);
      const recorded = this.tools.transactions.finish(this.place, json, onItsWay);
      onItsWay.follow(recorded, (error) => this.notRecorded(error));
      this.journal.onItsWay = onItsWay;
      attempt.recoveryPoint = name;
    }
    return fromJson(json);
  }

  /** The result, the user's writes and the recovery point, in one transaction. */
  private async recordFirst(result: R): Promise<unknown> {
    const { record } = this.phase;
    const { transactions } = this.tools;
    try {
      let json: string | undefined;
      if (record) {
        json = await transactions.commit(this.place, (tx) => record(tx, result));
      } else {
        json = phaseResult(this.place.name, result);
        await transactions.finish(this.place, json);
      }
      if (this.place.attempt) this.place.attempt.recoveryPoint = this.place.name;
      return fromJson(json);
    } catch (error) {
      throw this.notRecorded(error);
    }
  }

  /** The other system has acted, and it was not recorded. If the outcome has been found out, a retry need not ask again. */
  private notRecorded(error: unknown): unknown {
    const repeatable = this.phase.inDoubt === 'repeat' || this.earlier?.state === 'reconciled';
    return this.doubt(repeatable, error);
  }

  private reconcile(): Promise<Reconciliation> {
    return this.tools.reconcilers.ask({
      recoveryPoint: this.place.name,
      idempotencyKey: this.effectKey,
      request: fromJson(this.earlier ? this.earlier.request : this.request),
      startedAt: this.startedAt ?? new Date(),
    });
  }

  /** An unrecorded rejection leaves nothing uncertain, if the answer or the end of the operation is recorded. */
  private async end(state: 'rejected' | 'withdrawn', result?: string): Promise<void> {
    try {
      await this.tools.transactions.end(this.place, state, result);
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      this.stop('not_recorded');
      this.journal.unrecorded = { name: this.place.name, state, result };
      ForeignRun.logger.warn(
        `The end of phase "${this.place.name}" could not be recorded: ${errorLine(error)}`,
      );
    }
  }

  /** Marks the attempt and returns the error to throw. */
  private doubt(repeatable: boolean, error?: unknown): unknown {
    const { attempt, name } = this.place;
    this.stop('in_doubt');
    const doubt = error ?? new OutcomeUnknownError(name);
    if (attempt) {
      attempt.doubt = { phase: name, repeatable };
      publish('phase_in_doubt', () => ({
        ...attempt.described,
        phase: name,
        kind: 'foreign',
        repeatable,
      }));
      // The handler may swallow the error, and the client's answer will not show it.
      ForeignRun.logger.warn(
        `Phase "${name}" of idempotency key ${attempt.id} is in doubt${repeatable ? ' and will be repeated by a retry' : ''}: ${errorLine(doubt)}`,
      );
    }
    return doubt;
  }

  private unrecorded(error: unknown): unknown {
    this.stop('not_recorded');
    ForeignRun.logger.error(
      `The intent of phase "${this.place.name}" could not be recorded, so its call was not made: ${errorLine(error)}`,
    );
    return error instanceof StoreUnavailableError
      ? new ServiceUnavailableException('The next step could not be recorded and was not begun.', {
          cause: error,
        })
      : error;
  }

  /** A promise has to be awaited. */
  private reach(step: FaultStep, callFailed = false): Promise<void> | undefined {
    const { attempt, name } = this.place;
    return attempt && faultPoint(step, attempt, { name, effectKey: this.effectKey, callFailed });
  }

  private stop(why: StopReason): void {
    this.journal.stopAt(this.place.name, why);
  }
}
