import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { mortal } from '../fault-points.js';
import type { ResolvedPolicy } from '../idempotency.policy.js';
import { Attempt } from '../keys/attempt.js';
import { whyNotResumable } from '../keys/decision.js';
import type { KeyStore } from '../keys/key-store.js';
import type { LeaseKeeper } from '../keys/lease-keeper.js';
import type { MaintenanceStore, OpenOperation } from '../keys/maintenance-store.js';
import { persist } from '../keys/persistence.js';
import type { WaitingRoom } from '../keys/waiting-room.js';
import { fromJson, toJson } from '../phases/json.js';
import { closeJournal } from '../phases/close-journal.js';
import { PhaseJournal } from '../phases/phase-journal.js';
import type { PhaseStore } from '../phases/phase-store.js';
import { isDefinite, rejectionOf } from '../phases/rejection.js';
import type { UsageGuard } from '../phases/usage-guard.js';
import { requestContext, type RequestContext } from '../request/request-context.js';
import { resumeIn } from './completer.options.js';
import type { Operations } from './resumable.js';

export interface CompleterTools {
  store: MaintenanceStore;
  keys: KeyStore;
  phases: PhaseStore;
  leases: LeaseKeeper;
  waitingRoom: WaitingRoom;
  operations: Operations;
}

/**
 * Completes operations whose client did not come back. The method runs in the
 * key's context, so its phases go on where they stopped; what it returns is
 * recorded for the client, should it retry after all.
 */
export class Completer {
  private readonly logger = new Logger('IdempotencyMaintenance');
  private readonly reported = new Set<string>();

  constructor(
    private readonly tools: CompleterTools,
    private readonly policy: ResolvedPolicy,
    private readonly guard: UsageGuard | undefined,
    private readonly maxAttempts: number,
  ) {}

  async run(batch: number): Promise<number> {
    const { store, operations } = this.tools;
    await this.reportStrangers();
    const { lease } = this.policy;
    const found = await store.claimOperations(operations.names, this.maxAttempts, lease, batch);
    await Promise.all(found.map((key) => this.complete(key)));
    return found.length;
  }

  private async complete(key: OpenOperation): Promise<void> {
    const { keys, phases, leases, waitingRoom } = this.tools;
    const recorded = await phases.load(key.id);
    const why = whyNotResumable(key, recorded, { onAbandoned: 'resume' });
    if (why !== undefined) return keys.declareUnknown(key, why);

    const reservation = { ...key, owner: randomUUID(), lease: this.policy.lease };
    if (!(await keys.takeOver(key, reservation.owner, reservation.lease))) return;
    const attempt = new Attempt(reservation, this.policy, {
      ...key,
      number: key.attempt + 1,
      recorded,
    });
    attempt.began = true;
    attempt.inBackground = true;
    leases.hold(attempt);
    try {
      await mortal(() => this.attempt(attempt, key));
    } finally {
      leases.drop(attempt);
      waitingRoom.wake(attempt.owner);
    }
  }

  private async attempt(attempt: Attempt, { operation, input }: OpenOperation): Promise<void> {
    const context = {
      attempt,
      journal: new PhaseJournal(attempt.recorded),
      route: operation,
      guard: this.guard,
    };
    try {
      const result = await this.operate(context, operation, fromJson(input ?? undefined));
      if (attempt.doubt) return await this.fail(attempt, operation, 'in_doubt');
      await this.record(
        attempt,
        'finished',
        toJson(result, `The result of operation "${operation}"`),
      );
    } catch (error) {
      if (isDefinite(error) && !attempt.doubt) {
        const what = `The exception that ended operation "${operation}"`;
        return this.record(attempt, 'rejected', rejectionOf(error, what));
      }
      await this.fail(attempt, operation, error);
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
      await closeJournal(context);
    }
  }

  private async record(
    attempt: Attempt,
    state: 'finished' | 'rejected',
    result: string | undefined,
  ): Promise<void> {
    await this.insist(attempt, () => this.tools.phases.finishOperation(attempt, state, result));
    this.logger.log(
      `Attempt ${attempt.number} completed idempotency key ${attempt.id} without its client.`,
    );
  }

  private async fail(attempt: Attempt, operation: string, error: unknown): Promise<void> {
    const unknown = attempt.doubt !== undefined && !attempt.doubt.repeatable;
    const exhausted = attempt.number > this.maxAttempts;
    this.logger.error(
      `Attempt ${attempt.number} of operation "${operation}" (idempotency key ${attempt.id}) failed` +
        `${unknown ? ', and its outcome is unknown' : exhausted ? ', and no further one is made' : ''}: ${String(error)}`,
    );
    await this.insist(attempt, () =>
      this.tools.keys.finish([
        {
          id: attempt.id,
          owner: attempt.owner,
          status: unknown ? 'unknown' : 'failed_retryable',
          responseStatus: null,
          responseHeaders: null,
          responseBody: null,
          errorCode: attempt.doubt
            ? 'in_doubt'
            : exhausted
              ? 'attempts_exhausted'
              : 'operation_failed',
          retention: attempt.policy.retention,
          resumeIn: exhausted ? null : resumeIn(attempt.number),
        },
      ]),
    );
  }

  /** What cannot be recorded within the lease lapses, and is found again by the sweeper. */
  private async insist(attempt: Attempt, statement: () => Promise<unknown>): Promise<void> {
    try {
      await persist(statement, { within: attempt.lease, again: () => !attempt.leaseLost });
    } catch (error) {
      this.logger.warn(
        `The end of idempotency key ${attempt.id} could not be recorded: ${String(error)}`,
      );
    }
  }

  private async reportStrangers(): Promise<void> {
    const { store, operations } = this.tools;
    for (const { operation, count } of await store.strangeOperations(operations.names)) {
      if (this.reported.has(operation)) continue;
      this.reported.add(operation);
      this.logger.warn(
        `${count} idempotency key(s) wait for operation "${operation}", which this process does not have. ` +
          'They are kept; deploy a @Resumable() with that name, or resolve them by hand.',
      );
    }
  }
}
