import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import type { AttemptOutcome } from '../telemetry/events.js';
import { Observation } from '../telemetry/observation.js';
import { publish } from '../telemetry/publish.js';
import { startSpan } from '../telemetry/tracing.js';
import { mortal } from '../faults/fault-points.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { ColumnCiphers } from '../encryption/column-cipher.js';
import { KEY } from '../encryption/columns.js';
import { Attempt } from '../keys/attempt.js';
import { whyNotResumable } from '../keys/decision.js';
import type { KeyStore } from '../keys/key-store.js';
import { NO_ANSWER } from '../keys/stored-answer.js';
import type { KeyTransitions } from '../keys/key-transitions.js';
import type { LeaseKeeper } from '../keys/lease-keeper.js';
import type { RecordedPhases } from '../keys/recorded-phases.js';
import type { OpenOperation } from './completer-store.js';
import { persist } from '../postgres/retries.js';
import type { WaitingRequests } from '../keys/waiting-requests.js';
import type { ErrorCode } from '../schema/error-code.js';
import { fromJson, toJson } from '../schema/json.js';
import { endPhases } from '../phases/close-phases.js';
import { PhaseJournal } from '../phases/phase-journal.js';
import type { OperationOutcome, PhaseStore } from '../phases/phase-store.js';
import { isDefinite, rejectionOf } from '../phases/rejection.js';
import type { UsageGuard } from '../phases/usage-guard.js';
import { OpenTransactions } from '../phases/open-transactions.js';
import { requestContext, type RequestContext } from '../phases/request-context.js';
import { resumeIn } from '../keys/resume-pause.js';
import type { Operations } from '../phases/resumable.js';

export interface OperationTools {
  keys: KeyStore;
  transitions: KeyTransitions;
  phases: PhaseStore;
  recordedPhases: RecordedPhases;
  leases: LeaseKeeper;
  waitingRequests: WaitingRequests;
  operations: Operations;
  ciphers: ColumnCiphers;
}

/**
 * One attempt of a worker at an operation: takes the key over, runs the method in
 * the key's context, so that it resumes at its recovery point, and records the
 * outcome, for the client if it retries after all.
 */
export class OperationRunner {
  private readonly logger = new Logger('IdempotencyMaintenance');

  constructor(
    private readonly tools: OperationTools,
    private readonly policy: ResolvedPolicy,
    private readonly guard: UsageGuard,
    private readonly maxAttempts: number,
  ) {}

  /** Resolves when the attempt has ended or has lost its lease. */
  async run(key: OpenOperation): Promise<void> {
    const { leases, waitingRequests } = this.tools;
    leases.deciding();
    const taken = await this.take(key).finally(() => leases.decided());
    if (!taken) return;
    const { attempt, input } = taken;
    try {
      const work = () => mortal(() => this.attempt(attempt, key.operation, input));
      await attempt.observed.run(() => untilLost(attempt, work));
    } finally {
      attempt.observed.span?.end();
      leases.drop(attempt);
      waitingRequests.wake(attempt.owner);
    }
  }

  /**
   * Undefined: another attempt has the key, or its outcome is unknown. What cannot
   * be read is not taken over.
   */
  private async take(
    key: OpenOperation,
  ): Promise<{ attempt: Attempt; input: unknown } | undefined> {
    const { transitions, recordedPhases, leases, ciphers } = this.tools;
    const cipher = (await ciphers.readers([key]))(key.scope);
    const recorded = await recordedPhases.of(key, cipher);
    const input = fromJson(cipher.openJson(key.input, KEY.input, key));
    const why = whyNotResumable(key, recorded, { onAbandoned: 'resume' });
    if (why !== undefined) {
      await transitions.declareUnknown(key, why, key.operation);
      return undefined;
    }
    // The route's own values: a worker knows no route, and its module's may differ.
    const policy = {
      ...this.policy,
      lease: key.leaseMs ?? this.policy.lease,
      maxRunTime: key.maxRunTimeMs ?? this.policy.maxRunTime,
    };
    const reservation = {
      ...key,
      owner: randomUUID(),
      lease: policy.lease,
      cipher: await ciphers.of(key.scope),
    };
    const taken = await transitions.takeOver(key, reservation.owner, reservation.lease, true);
    if (taken !== 'changed') return undefined;
    const observed = new Observation(key.operation, spanOf(key));
    const attempt = new Attempt({ ...reservation, observed }, policy, {
      ...key,
      number: key.attempt + 1,
      resumeAttempts: key.resumeAttempts + 1,
      recorded,
      byWorker: true,
    });
    attempt.began = true;
    attempt.inBackground = true;
    leases.hold(attempt);
    return { attempt, input };
  }

  private async attempt(attempt: Attempt, operation: string, input: unknown): Promise<void> {
    // A worker runs an operation again from the beginning, so all its effects have to be in phases.
    const phased = true;
    const context = {
      attempt,
      journal: new PhaseJournal(attempt, phased),
      route: operation,
      guard: this.guard,
      phased,
      transactions: new OpenTransactions(),
    };
    try {
      const result = await this.operate(context, operation, input);
      if (attempt.doubt) return await this.fail(attempt, operation, 'a call is in doubt');
      const json = toJson(result, `The result of operation "${operation}"`);
      await this.record(context, attempt, { state: 'finished', result: json });
    } catch (error) {
      if (isDefinite(error) && !attempt.doubt) {
        const what = `The exception that ended operation "${operation}"`;
        const result = rejectionOf(error, what);
        return this.record(context, attempt, { state: 'rejected', result });
      }
      await this.fail(attempt, operation, errorLine(error));
    }
  }

  private async operate(
    context: RequestContext,
    operation: string,
    input: unknown,
  ): Promise<unknown> {
    try {
      return await requestContext.run(context, () => this.tools.operations.run(operation, input));
    } finally {
      await endPhases(context);
    }
  }

  /**
   * Records the outcome of the operation, together with that of a phase that
   * could not be recorded earlier: otherwise that phase would be in doubt.
   */
  private async record(
    { journal }: RequestContext,
    attempt: Attempt,
    outcome: OperationOutcome,
  ): Promise<void> {
    const { phases } = this.tools;
    const recorded = await this.insist(attempt, () =>
      phases.finishOperation(attempt, outcome, journal.unrecorded),
    );
    if (!recorded) return;
    recordedAs(attempt, 'performed');
    this.logger.log(
      `Attempt ${attempt.number} completed idempotency key ${attempt.id} without its client.`,
    );
  }

  private async fail(attempt: Attempt, operation: string, why: string): Promise<void> {
    const unknown = attempt.doubt !== undefined && !attempt.doubt.repeatable;
    const exhausted = attempt.resumeAttempts >= this.maxAttempts;
    this.logger.error(
      `Attempt ${attempt.number} of operation "${operation}" (idempotency key ${attempt.id}) failed` +
        `${unknown ? ', and its outcome is unknown' : exhausted ? ', and no further one is made' : ''}: ${why}`,
    );
    const code = errorCodeOf(attempt, exhausted);
    const recorded = await this.insist(attempt, () =>
      this.tools.keys.finish([
        {
          scope: attempt.scope,
          id: attempt.id,
          owner: attempt.owner,
          status: unknown ? 'unknown' : 'failed_retryable',
          ...NO_ANSWER,
          errorCode: code,
          retention: attempt.policy.retention,
          resumeIn: exhausted ? null : resumeIn(attempt.resumeAttempts),
        },
      ]),
    );
    if (!recorded) return;
    recordedAs(attempt, unknown ? 'unknown' : 'failed_retryable');
    if (unknown) this.tools.transitions.unknownOutcomes.note(attempt, code, operation);
  }

  /** If it cannot be recorded within the lease, the lease lapses and the sweeper finds the key. */
  private async insist(attempt: Attempt, statement: () => Promise<unknown>): Promise<boolean> {
    try {
      await persist(statement, { within: attempt.lease, again: () => !attempt.leaseLost });
      return true;
    } catch (error) {
      this.logger.warn(
        `The end of idempotency key ${attempt.id} could not be recorded: ${errorLine(error)}`,
      );
      return false;
    }
  }
}

function recordedAs(attempt: Attempt, outcome: AttemptOutcome): void {
  publish('recorded', () => ({ ...attempt.described, outcome }));
  attempt.observed.span?.set({ 'idempotency.outcome': outcome });
}

/** Part of the trace of the request that it continues. */
function spanOf({ id, operation, attempt, traceparent }: OpenOperation) {
  return startSpan(() => ({
    name: `complete ${operation}`,
    attributes: {
      'idempotency.route': operation,
      'idempotency.key.id': id,
      'idempotency.attempt': attempt + 1,
    },
    origin: traceparent,
    detached: true,
  }));
}

/** A method that outlasts its lease is not waited for: it would block others for ever. */
async function untilLost(attempt: Attempt, work: () => Promise<void>): Promise<void> {
  const { signal } = attempt;
  let lost!: () => void;
  const leaseLost = new Promise<void>((resolve) => (lost = resolve));
  signal.addEventListener('abort', lost, { once: true });
  try {
    await Promise.race([work(), leaseLost]);
  } finally {
    signal.removeEventListener('abort', lost);
  }
}

/**
 * The code that operators see. `attempts_exhausted` takes precedence over the
 * cause of the last failure.
 */
function errorCodeOf({ doubt }: Attempt, exhausted: boolean): ErrorCode {
  if (doubt && !doubt.repeatable) return 'in_doubt';
  if (exhausted) return 'attempts_exhausted';
  return doubt ? 'in_doubt' : 'operation_failed';
}
