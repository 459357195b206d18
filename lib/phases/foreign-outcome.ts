import { Logger, type HttpException } from '@nestjs/common';
import { faultsAreObserved } from '../faults/fault-points.js';
import { LeaseLostError } from '../policy/phase-errors.js';
import { fromJson } from '../schema/json.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import { errorLine } from '../telemetry/error-line.js';
import { leaveInDoubt } from './foreign-doubt.js';
import type { ForeignPhase } from './foreign-phase.js';
import { OutcomeOnItsWay } from './outcome-on-its-way.js';
import type { PhaseBatches } from './phase-batches.js';
import { phaseResult } from './phase-result.js';
import type { PhasePlace, PhaseTransactions } from './phase-transactions.js';
import { rejectionOf } from './rejection.js';

/** What outcomes are recorded with. */
export interface OutcomeTools {
  batches: Pick<PhaseBatches, 'batching'>;
  transactions: Pick<PhaseTransactions, 'commit' | 'finish' | 'end'>;
}

/**
 * How the known outcome of a foreign phase is recorded: its result, its rejection,
 * or that its call was not executed.
 */
export class ForeignOutcome<R, T> {
  private static readonly logger = new Logger('AtomicPhase');

  constructor(
    private readonly tools: OutcomeTools,
    private readonly place: PhasePlace,
    private readonly phase: ForeignPhase<R, T>,
    private readonly earlier: PhaseRecord | undefined,
  ) {}

  /** Finishes the phase. Returns its result, as a resume would. */
  record(result: R): unknown {
    return this.mayGoOn ? this.recordMeanwhile(result) : this.recordFirst(result);
  }

  /** A definite rejection: a resume throws it again, without calling. */
  async reject(error: HttpException): Promise<HttpException> {
    await this.end('rejected', this.rejection(error));
    return error;
  }

  /** The call took no effect, for certain: a resume makes it again. */
  async withdraw(): Promise<void> {
    await this.end('withdrawn');
    const { journal, name } = this.place;
    journal.stopAt(name, 'not_executed');
  }

  /**
   * The handler may go on while the outcome is recorded: nothing takes effect until
   * its next phase. Not if somebody observes where a process could die: in a simulated
   * crash nothing may go on.
   */
  private get mayGoOn(): boolean {
    const { place, phase, tools } = this;
    return place.journal.phased && !phase.record && tools.batches.batching && !faultsAreObserved();
  }

  private recordMeanwhile(result: R): unknown {
    const { journal, attempt, name } = this.place;
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
      journal.onItsWay = onItsWay;
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
    return leaveInDoubt(this.place, repeatable, error);
  }

  /**
   * A rejection that cannot be stored would be missing on a resume, which would
   * then call again.
   */
  private rejection(error: HttpException): string | undefined {
    try {
      return rejectionOf(error, `The exception that ended phase "${this.place.name}"`);
    } catch (unstorable) {
      throw leaveInDoubt(this.place, this.phase.inDoubt === 'repeat', unstorable);
    }
  }

  /** An unrecorded rejection leaves nothing uncertain, if the answer or the end of the operation is recorded. */
  private async end(state: 'rejected' | 'withdrawn', result?: string): Promise<void> {
    const { journal, name } = this.place;
    try {
      await this.tools.transactions.end(this.place, state, result);
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      journal.stopAt(name, 'not_recorded');
      journal.unrecorded = { name, state, result };
      ForeignOutcome.logger.warn(
        `The end of phase "${name}" could not be recorded: ${errorLine(error)}`,
      );
    }
  }
}
