import { Logger } from '@nestjs/common';
import { faultPoint, mortal } from '../fault-points.js';
import type { ResolvedPolicy } from '../idempotency.policy.js';
import type { PhaseRecord } from '../phases/phase-record.js';
import type { PhaseStore } from '../phases/phase-store.js';
import { storeUnavailable } from '../response/refusals.js';
import { Attempt } from './attempt.js';
import { isConnectionLoss, StoreUnavailableError } from './database.js';
import { decide, whyNotResumable, type Decision } from './decision.js';
import type { FinishedKeys } from './finished-keys.js';
import type { KeyBatches } from './key-batches.js';
import type { KeyStore, Reservation } from './key-store.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { persist } from './persistence.js';
import type { WaitingRoom } from './waiting-room.js';
import { withdraw } from './withdrawal.js';

/** Far more rounds than any real race needs; only a broken store gets there. */
const MOST_ROUNDS = 1_000;

/** Decides what a request with a key gets, and takes the key where it is to run. */
export class Reservations {
  private readonly logger = new Logger('IdempotencyModule');
  private closed = false;

  constructor(
    private readonly keys: KeyStore,
    private readonly batches: KeyBatches,
    private readonly finished: FinishedKeys,
    private readonly phases: PhaseStore,
    private readonly leases: LeaseKeeper,
    private readonly waitingRoom: WaitingRoom,
    private readonly storeTimeout: number,
  ) {}

  /** For shutdown: what arrives from now on is for another process, and what waits is to ask there. */
  close(): void {
    this.closed = true;
    this.waitingRoom.wakeAll();
  }

  async claim(reservation: Reservation, policy: ResolvedPolicy): Promise<Decision> {
    const decision = await this.settle(reservation, policy);
    const reached = decision.kind === 'run' && faultPoint('reserved', decision.attempt);
    if (reached) await mortal(() => reached);
    return decision;
  }

  private async settle(reservation: Reservation, policy: ResolvedPolicy): Promise<Decision> {
    // Statements that may have taken the key without our knowing, or still may.
    const unsure: Promise<unknown>[] = [];
    let decision: Decision | undefined;
    this.leases.deciding();
    try {
      this.assertOpen();
      decision = await this.decide(reservation, policy, unsure);
      if (decision.kind === 'run') this.leases.hold(decision.attempt);
      return decision;
    } finally {
      this.leases.decided();
      // Nobody will run what they took: it must not be left to lapse into an unknown outcome.
      const taken = decision?.kind !== 'run' && unsure.length > 0;
      if (taken) void withdraw(this.keys, reservation, unsure);
    }
  }

  private async decide(
    reservation: Reservation,
    policy: ResolvedPolicy,
    unsure: Promise<unknown>[],
  ): Promise<Decision> {
    const waitUntil = performance.now() + policy.waitFor;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const asOf = performance.now();
      const known = this.finished.find(reservation);
      const result = known
        ? ({ kind: 'found', key: known } as const)
        : await this.take(unsure, () => this.batches.reserve(reservation));
      if (result.kind === 'reserved') {
        return run(reservation, policy, result.id, 1, 'started', NO_PHASES);
      }
      if (result.kind === 'missed') continue;
      if (result.kind === 'stale') return result;

      const { key } = result;
      if (key.status === 'completed' && !known) this.finished.keep(reservation, key, asOf);
      const step = decide(key, reservation, policy);
      switch (step.kind) {
        case 'ours': {
          const phases = key.attempt > 1 ? await this.phases.load(key.id) : NO_PHASES;
          return run(reservation, policy, key.id, key.attempt, key.recoveryPoint, phases);
        }
        case 'forget':
          await this.keys.forget(key.id);
          continue;
        case 'resume': {
          const phases = await this.phases.load(key.id);
          const why = whyNotResumable(key, phases, policy);
          if (why !== undefined) {
            this.logger.warn(`Idempotency key ${key.id} is ${why}: its outcome is unknown.`);
            await this.keys.declareUnknown(key, why);
            continue;
          }
          this.assertOpen();
          const { owner, lease } = reservation;
          if (await this.take(unsure, () => this.keys.takeOver(key, owner, lease))) {
            return run(reservation, policy, key.id, key.attempt + 1, key.recoveryPoint, phases);
          }
          continue;
        }
        case 'running': {
          const left = waitUntil - performance.now();
          if (policy.onInProgress === 'wait' && left > 0 && !this.closed) {
            await this.waitingRoom.wait(key, left);
            continue;
          }
          const kind = policy.onInProgress === 'accept' ? 'accepted' : 'inProgress';
          return { kind, id: key.id, runningFor: step.runningFor };
        }
        case 'pending':
          return { kind: 'accepted', id: key.id, runningFor: step.runningFor };
        default:
          return step;
      }
    }
    throw new StoreUnavailableError(`A key could not be reserved in ${MOST_ROUNDS} rounds.`);
  }

  private assertOpen(): void {
    if (this.closed) throw storeUnavailable('This server is shutting down.');
  }

  /**
   * A lost connection leaves open whether the key was taken. The same owner asks
   * again, and if it was, finds itself in the row.
   */
  private take<T>(unsure: Promise<unknown>[], statement: () => Promise<T>): Promise<T> {
    return persist(statement, {
      within: this.storeTimeout,
      again: (error) => {
        if (error instanceof StoreUnavailableError && error.late) unsure.push(error.late);
        return isConnectionLoss(error);
      },
    });
  }
}

const NO_PHASES: readonly PhaseRecord[] = [];

function run(
  reservation: Reservation,
  policy: ResolvedPolicy,
  id: string,
  number: number,
  recoveryPoint: string,
  recorded: readonly PhaseRecord[],
): Decision {
  const attempt = new Attempt(reservation, policy, { id, number, recoveryPoint, recorded });
  return { kind: 'run', attempt };
}
