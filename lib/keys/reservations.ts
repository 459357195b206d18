import { Logger } from '@nestjs/common';
import { faultPoint, mortal } from '../fault-points.js';
import type { ResolvedPolicy } from '../idempotency.policy.js';
import type { PhaseStore } from '../phases/phase-store.js';
import { storeUnavailable } from '../response/refusals.js';
import { Attempt } from './attempt.js';
import { isConnectionLoss, isSerializationConflict, StoreUnavailableError } from './database.js';
import { decide, whyNotResumable, type Decision } from './decision.js';
import type { FoundKey, KeyStore, Reservation, ReserveResult } from './key-store.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { persist } from './persistence.js';
import type { WaitingRoom } from './waiting-room.js';

/** Far more rounds than any real race needs; only a broken store gets there. */
const MOST_ROUNDS = 1_000;

/** Decides what a request with a key gets, and takes the key where it is to run. */
export class Reservations {
  private readonly logger = new Logger('IdempotencyModule');
  private closed = false;

  constructor(
    private readonly keys: KeyStore,
    private readonly phases: PhaseStore,
    private readonly leases: LeaseKeeper,
    private readonly waitingRoom: WaitingRoom,
    private readonly storeTimeout: number,
  ) {}

  /** For shutdown: what arrives from now on is for another process. */
  close(): void {
    this.closed = true;
  }

  async claim(reservation: Reservation, policy: ResolvedPolicy): Promise<Decision> {
    if (this.closed) throw storeUnavailable('This server is shutting down.');
    try {
      const decision = await this.decide(reservation, policy);
      if (decision.kind !== 'run') return decision;
      const { attempt } = decision;
      this.leases.hold(attempt);
      await mortal(async () => faultPoint('reserved', attempt));
      return decision;
    } catch (error) {
      // The statement may have taken effect, or may still: nobody will run what
      // it reserved, so it must not be left to lapse into an unknown outcome.
      if (error instanceof StoreUnavailableError) void this.withdraw(reservation, error.late);
      throw error;
    }
  }

  private async decide(reservation: Reservation, policy: ResolvedPolicy): Promise<Decision> {
    const waitUntil = performance.now() + policy.waitFor;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const result = await this.reserve(reservation);
      if (result.kind === 'reserved') {
        return this.run(reservation, policy, { ...result, number: 1, recoveryPoint: 'started' });
      }
      if (result.kind === 'missed') continue;

      const { key } = result;
      const step = decide(key, reservation, policy);
      switch (step.kind) {
        case 'ours':
          return this.run(reservation, policy, { ...key, number: key.attempt });
        case 'forget':
          await this.keys.forget(key.id);
          continue;
        case 'resume': {
          const phases = await this.phases.load(key.id);
          const why = whyNotResumable(key, phases, policy);
          if (why !== undefined) {
            this.logger.warn(`Idempotency key ${key.id} is ${why}: its outcome is unknown.`);
            await this.keys.declareUnknown(key, why);
          } else if (await this.keys.takeOver(key, reservation.owner, reservation.lease)) {
            const number = key.attempt + 1;
            return this.run(reservation, policy, { ...key, number }, phases);
          }
          continue;
        }
        case 'running': {
          const left = waitUntil - performance.now();
          if (policy.onInProgress === 'wait' && left > 0) {
            await this.waitingRoom.wait(key, left);
            continue;
          }
          const kind = policy.onInProgress === 'accept' ? 'accepted' : 'inProgress';
          return { kind, runningFor: step.runningFor };
        }
        case 'pending':
          return { kind: 'accepted', runningFor: step.runningFor };
        default:
          return step;
      }
    }
    throw new StoreUnavailableError(`A key could not be reserved in ${MOST_ROUNDS} rounds.`);
  }

  /**
   * A lost connection leaves open whether the row was inserted. The same owner
   * asks again and recognises itself.
   */
  private async reserve(reservation: Reservation): Promise<ReserveResult> {
    const [result] = await persist(() => this.keys.reserve([reservation]), {
      within: this.storeTimeout,
      again: (error) => isConnectionLoss(error) || isSerializationConflict(error),
    });
    return result ?? { kind: 'missed' };
  }

  private async run(
    reservation: Reservation,
    policy: ResolvedPolicy,
    row: Pick<FoundKey, 'id' | 'recoveryPoint' | 'expiresAt'> & { number: number },
    phases?: Awaited<ReturnType<PhaseStore['load']>>,
  ): Promise<Decision> {
    const recorded = phases ?? (row.number > 1 ? await this.phases.load(row.id) : []);
    return { kind: 'run', attempt: new Attempt(reservation, policy, { ...row, recorded }) };
  }

  private async withdraw(reservation: Reservation, late: Promise<unknown>): Promise<void> {
    try {
      await late;
      await persist(() => this.keys.giveBack(reservation), {
        within: reservation.lease,
        again: () => true,
      });
    } catch (error) {
      this.logger.warn(
        `A reservation that was given up could not be withdrawn; if it was made, its lease lapses: ${String(error)}`,
      );
    }
  }
}
