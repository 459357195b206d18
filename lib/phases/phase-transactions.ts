import { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { faultPoint } from '../faults/fault-points.js';
import type { Attempt } from '../keys/attempt.js';
import {
  isConnectionLoss,
  isOfDatabase,
  isSerializationConflict,
  isUnprepared,
} from '../postgres/database-errors.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { persist } from '../postgres/retries.js';
import type { Transactions } from '../postgres/transactions.js';
import { ConnectionWatch } from './connection-watch.js';
import { phaseResult } from './phase-result.js';
import { LeaseLostError } from '../policy/phase-errors.js';
import type { PhaseKind } from '../schema/phase-record.js';
import { runningPhase, type RunningPhase } from './running-phase.js';
import type { OutcomeOnItsWay } from './outcome-on-its-way.js';
import type { PhaseBatches } from './phase-batches.js';
import type { PhaseJournal } from './phase-journal.js';
import type { EndedPhase, PhaseStore } from './phase-store.js';
import { throwWithoutValues, withoutValues } from './without-values.js';

/** How long conflicts are retried without a lease. */
const UNKEYED_PATIENCE = 5_000;

/**
 * How often the work of a phase is begun in one attempt if its connection is lost
 * each time. A restart of the database costs one run, a failover two; work that
 * loses its connection more often probably causes the loss itself.
 */
const MOST_LOST_RUNS = 3;

/** The phase that a transaction belongs to. */
export interface PhasePlace {
  journal: PhaseJournal;
  attempt: Attempt | undefined;
  name: string;
  kind: PhaseKind;
  position: number;
}

/**
 * Ends phases: the application's writes, the fence and the phase's row commit
 * together, or not at all.
 */
export class PhaseTransactions {
  private readonly logger = new Logger('AtomicPhase');

  constructor(
    private readonly transactions: Transactions,
    private readonly store: PhaseStore,
    private readonly batches: PhaseBatches,
  ) {}

  /**
   * Runs `work` in a transaction and finishes the phase with what it returns. The
   * fence comes last, so the key's row is not locked while the work runs.
   *
   * A conflict or a lost connection may make the work run again, in a new
   * transaction, after the first one is known to be rolled back: for the length
   * of the lease, and at most three times if its connection was lost.
   */
  commit(
    place: PhasePlace,
    work: (tx: EntityManager) => Promise<unknown>,
  ): Promise<string | undefined> {
    const { attempt, name, position, kind } = place;
    const run: Run = { begun: false, lost: 0, watch: new ConnectionWatch() };
    // A run does not count if there was no connection for it.
    const begun = () => {
      run.begun = true;
    };
    const once = () => {
      let result: string | undefined;
      const inTransaction = async (tx: EntityManager, client: object) => {
        run.watch.begin(client);
        try {
          result = phaseResult(name, await runningPhase.run(phaseIn(tx, place), () => work(tx)));
        } catch (error) {
          throw ofWork(error, tx);
        } finally {
          run.watch.end();
        }
        if (!attempt) return undefined;
        const before = faultPoint('before_commit', attempt, place);
        if (before) await before;
        const state = 'finished';
        return this.store.lastStatement({ attempt, name, position, kind, state, result });
      };
      return this.transactions.run(inTransaction, begun).then((committed) => {
        if (!attempt) return result;
        const ended = () => {
          const after = faultPoint('after_commit', attempt, place);
          return after ? after.then(() => result) : result;
        };
        if (committed) return ended();
        // The work wrote nothing, so its result can travel with those of other requests.
        return this.endAlone(place, attempt, 'finished', result).then(ended);
      });
    };
    return this.again(place, once, run);
  }

  /**
   * Finishes a phase that has only its result to write, in one statement.
   *
   * @param onItsWay its handler goes on meanwhile
   */
  finish(place: PhasePlace, result: string | undefined, onItsWay?: OutcomeOnItsWay): Promise<void> {
    const { attempt } = place;
    if (!attempt) return Promise.resolve();
    let joinable = onItsWay;
    const once = () => {
      const ended = this.endAlone(place, attempt, 'finished', result, joinable);
      // What was sent with the first try may be on record.
      joinable = undefined;
      return ended;
    };
    const finished = this.again(place, () => {
      const before = faultPoint('before_commit', attempt, place);
      return before ? before.then(once) : once();
    });
    return finished.then(() => faultPoint('after_commit', attempt, place));
  }

  /** Ends a phase that has no work of its own. */
  async end(place: PhasePlace, state: EndedPhase['state'], result?: string): Promise<void> {
    const { attempt } = place;
    if (attempt) await this.again(place, () => this.endAlone(place, attempt, state, result));
  }

  private async endAlone(
    place: PhasePlace,
    attempt: Attempt,
    state: EndedPhase['state'],
    result: string | undefined,
    onItsWay?: OutcomeOnItsWay,
  ): Promise<string | undefined> {
    const { name, position, kind } = place;
    const ended = { attempt, name, position, kind, state, result, onItsWay };
    const recorded = await this.batches.record(ended);
    if (!recorded) throw new LeaseLostError(name);
    return result;
  }

  private again(
    { attempt, name }: PhasePlace,
    once: () => Promise<string | undefined>,
    run?: Run,
  ): Promise<string | undefined> {
    const patience = attempt?.lease ?? UNKEYED_PATIENCE;
    let lost = false;
    // Measured from the first failure, so that long work is tried again too.
    let deadline: number | undefined;
    const unlessExhausted = () => {
      if (run && run.lost >= MOST_LOST_RUNS) throw run.error;
      return once();
    };
    return persist(
      () => (lost && attempt ? this.unlessEnded(attempt, name, unlessExhausted) : once()),
      {
        within: Infinity,
        again: (error) => {
          if (error instanceof WorkError) return false;
          // The last run was checked again, and had not been committed.
          if (run && run.lost >= MOST_LOST_RUNS && run.error === error) return false;
          // Also if it took too long: it may still be committing, or may have committed.
          const disconnected =
            attempt !== undefined &&
            (isConnectionLoss(error) || error instanceof StoreUnavailableError);
          lost ||= disconnected;
          deadline ??= performance.now() + patience;
          const again = disconnected || isSerializationConflict(error) || isUnprepared(error);
          if (disconnected && run?.begun) this.noteLost(run, error, attempt, name);
          if (run) run.begun = false;
          return again && performance.now() < deadline;
        },
      },
      (error) => {
        if (error instanceof WorkError) throw error.cause;
        if (error instanceof LeaseLostError) attempt?.loseLease();
        if (!isConnectionLoss(error)) throw error;
        const runs = run && run.lost > 1 ? ` in each of ${run.lost} runs` : '';
        throw new StoreUnavailableError(
          `The connection was lost in phase "${name}"${runs}: ${(run?.watch ?? new ConnectionWatch()).why(error)}`,
          { cause: withoutValues(error) },
        );
      },
    );
  }

  private noteLost(run: Run, error: unknown, attempt: Attempt, name: string): void {
    run.lost += 1;
    run.error = error;
    this.logger.warn(
      `Phase "${name}" of idempotency key ${attempt.id} lost its connection in run ${run.lost} of at most ${MOST_LOST_RUNS}: ${run.watch.why(error)}`,
    );
  }

  /**
   * Only the reply to the commit may have been lost, or the server may have yet to
   * read the commit. In that case it commits one of the two runs: the row of the
   * phase can be written once.
   */
  private async unlessEnded(
    attempt: Attempt,
    name: string,
    once: () => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const end = () => this.store.endOf(attempt, name).catch(throwWithoutValues);
    const ended = await end();
    if (ended) return ended.result;
    try {
      return await once();
    } catch (error) {
      const late = error instanceof LeaseLostError ? await end() : undefined;
      if (!late) throw error;
      return late.result;
    }
  }
}

/** The runs of a phase's work in one attempt. */
interface Run {
  /** The work of the latest one was begun. */
  begun: boolean;
  /** How many of them lost their connection. */
  lost: number;
  /** The error of the last of these. */
  error?: unknown;
  watch: ConnectionWatch;
}

/** An error of the work itself: it is not retried, and passed on unchanged. */
class WorkError extends Error {
  constructor(override readonly cause: unknown) {
    super('The work of a phase failed.', { cause });
  }
}

/** The phase that the application's work is part of. */
function phaseIn(tx: EntityManager, { journal, name, kind }: PhasePlace): RunningPhase {
  return { journal, name, kind, queryRunner: tx.queryRunner!, requests: 0 };
}

/**
 * The error of the application's work in its transaction. A reset connection to another system
 * looks just like a reset database connection, so the two are distinguished here:
 * by the error, or by the runner, which TypeORM releases when its connection
 * breaks between two statements.
 */
function ofWork(error: unknown, { queryRunner }: EntityManager): unknown {
  const retryable =
    isSerializationConflict(error) ||
    (isConnectionLoss(error) && (isOfDatabase(error) || queryRunner!.isReleased));
  return retryable ? error : new WorkError(error);
}
