import { Logger } from '@nestjs/common';
import { resumeIn } from './resume-pause.js';
import { errorLine } from '../telemetry/error-line.js';
import type { AttemptOutcome } from '../telemetry/events.js';
import { publish } from '../telemetry/publish.js';
import { faultPoint } from '../faults/fault-points.js';
import type { ObservedAnswer } from '../answers/answer.js';
import { leaseLost, outcomeOpen, outcomeUnknown, storeUnavailable } from './refusal.js';
import type { ErrorCode } from '../schema/error-code.js';
import type { Attempt } from './attempt.js';
import type { KeyBatches } from './key-batches.js';
import type { KeyOutcome, RecordedOutcome } from './key-outcome.js';
import type { PhaseOnItsWay } from './last-phase.js';
import { NO_ANSWER, storedAnswer } from './stored-answer.js';
import type { KeyTransitions } from './key-transitions.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { persist } from '../postgres/retries.js';
import type { WaitingRequests } from './waiting-requests.js';

/** The recorded outcome of an attempt. */
export interface Recorded {
  outcome: AttemptOutcome;
  final: boolean;
  /** A worker continues; the client gets 202. */
  leftToWorker?: boolean;
  expiresAt: Date | null;
}

/** Records the outcome of an attempt, before its answer is sent. */
export class Recorder {
  private readonly logger = new Logger('IdempotencyModule');

  constructor(
    private readonly transitions: KeyTransitions,
    private readonly batches: KeyBatches,
    private readonly leases: LeaseKeeper,
    private readonly waitingRequests: WaitingRequests,
    private readonly pickHeaders: (headers: ObservedAnswer['headers']) => ObservedAnswer['headers'],
    /** There is an operation for the workers. */
    private readonly wakeWorkers: () => void,
  ) {}

  /**
   * Throws an IdempotencyProblem if the answer must not be sent: it could not be
   * recorded, the lease is lost, or a foreign call is in doubt.
   */
  async record(attempt: Attempt, observed: ObservedAnswer): Promise<Recorded> {
    attempt.recording = true;
    try {
      if (!attempt.began) {
        await this.insist(attempt, () => this.transitions.giveBack(attempt));
        return recordedAs(attempt, { outcome: 'given_back', final: false, expiresAt: null });
      }
      if (attempt.leftToWorker) {
        await attempt.onItsWay?.settled;
        const { maxRunTime } = attempt.policy;
        const operation = { ...attempt.operation!, maxRunTime };
        const left = await this.insist(attempt, () =>
          this.transitions.leaveToWorker(attempt, operation),
        );
        if (!left) throw this.lost(attempt);
        this.wakeWorkers();
        const pending = { outcome: 'pending', final: false, leftToWorker: true } as const;
        return recordedAs(attempt, { ...pending, expiresAt: null });
      }
      const before = faultPoint('recording:before', attempt, undefined, observed);
      if (before) await before;
      const together =
        attempt.onItsWay && (await this.finishWith(attempt.onItsWay, attempt, observed));
      const outcome = together?.outcome ?? outcomeOf(attempt, observed, this.pickHeaders);
      const row = together ? together.row : await this.finish(attempt, outcome);
      const after = faultPoint('recording:after', attempt);
      if (after) await after;
      if (!row) throw this.lost(attempt);
      const { status, errorCode } = outcome;
      const recorded = {
        outcome: status,
        final: status === 'completed',
        expiresAt: row.expiresAt,
      };
      recordedAs(attempt, recorded);
      if (status === 'unknown') {
        this.transitions.unknownOutcomes.note(attempt, errorCode!, attempt.observed.route);
      }
      if (attempt.doubt) assertHonest(attempt.doubt.repeatable, observed.status);
      return recorded;
    } finally {
      this.leases.drop(attempt);
      this.waitingRequests.wake(attempt.owner);
    }
  }

  private lost(attempt: Attempt): Error {
    attempt.loseLease();
    return leaseLost();
  }

  /**
   * The outcome of the last phase is recorded with that of the attempt, in one
   * statement. Undefined: it is recorded by itself now, or the attempt is in doubt.
   */
  private async finishWith(
    last: PhaseOnItsWay,
    attempt: Attempt,
    observed: ObservedAnswer,
  ): Promise<{ outcome: KeyOutcome; row: RecordedOutcome | undefined } | undefined> {
    // It calls functions of the policy, which may throw: before anything is taken.
    const outcome = outcomeOf(attempt, observed, this.pickHeaders);
    const lastPhase = attempt.doubt ? undefined : last.take();
    let row: RecordedOutcome | undefined;
    let isRecorded = false;
    if (lastPhase) {
      try {
        row = await this.batches.finish({ ...outcome, lastPhase });
        last.taken(row !== undefined);
        isRecorded = true;
      } catch (error) {
        last.giveBack(error);
      }
    }
    await last.settled;
    return isRecorded ? { outcome, row } : undefined;
  }

  /** Retries are sent unbatched, so that a slow one does not delay others. */
  private finish(attempt: Attempt, outcome: KeyOutcome): Promise<RecordedOutcome | undefined> {
    let alone = false;
    return this.insist(attempt, () => {
      const recorded = this.batches.finish(outcome, alone);
      alone = true;
      return recorded;
    });
  }

  /** The answer is held meanwhile; after the lease this attempt may not own the key any more. */
  private insist<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
    const patience = { within: attempt.lease, again: () => !attempt.leaseLost };
    return persist(work, patience, (error) => {
      if (attempt.leaseLost) throw leaseLost();
      this.logger.error(
        `The end of an idempotent request could not be recorded within its lease, so its answer was held back: ${errorLine(error)}`,
      );
      throw storeUnavailable('The request was processed, but its outcome could not be recorded.');
    });
  }
}

function recordedAs(attempt: Attempt, recorded: Recorded): Recorded {
  publish('recorded', () => ({ ...attempt.described, outcome: recorded.outcome }));
  return recorded;
}

/** The row's new state. What is in doubt decides first, then whether the answer is final. */
export function outcomeOf(
  attempt: Attempt,
  observed: ObservedAnswer,
  pickHeaders: (headers: ObservedAnswer['headers']) => ObservedAnswer['headers'],
): KeyOutcome {
  const { status } = observed;
  if (attempt.doubt) {
    return open(attempt, attempt.doubt.repeatable ? 'failed_retryable' : 'unknown', 'in_doubt');
  }
  const { policy, error } = attempt;
  if (policy.isFinal({ status, error })) {
    const { scope, id, owner } = attempt;
    return {
      scope,
      id,
      owner,
      status: 'completed',
      ...storedAnswer(attempt.cipher, attempt, {
        status,
        headers: pickHeaders(observed.headers),
        body: observed.body ?? null,
      }),
      errorCode: null,
      retention: policy.retentionOf ? policy.retentionOf({ status, error }) : policy.retention,
      resumeIn: null,
    };
  }
  const unknown = status >= 500 && attempt.policy.onServerError === 'unknown';
  // The operation was performed before; only its answer could not be rendered.
  const retryable = attempt.operationEnd ? 'performed' : 'failed_retryable';
  return open(attempt, unknown ? 'unknown' : retryable, `http_${status}`);
}

function open(
  attempt: Attempt,
  status: 'failed_retryable' | 'performed' | 'unknown',
  errorCode: ErrorCode,
): KeyOutcome {
  const { scope, id, owner } = attempt;
  return {
    scope,
    id,
    owner,
    status,
    ...NO_ANSWER,
    errorCode,
    retention: attempt.policy.retention,
    resumeIn: resumeIn(attempt.resumeAttempts + 1),
  };
}

/**
 * While a call is in doubt, any answer but "it failed, try again" would be a
 * guess, whatever the handler did with the error.
 */
function assertHonest(repeatable: boolean, status: number): void {
  if (!repeatable) throw outcomeUnknown();
  if (status < 500) throw outcomeOpen();
}
