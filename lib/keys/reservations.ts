import { faultPoint, mortal } from '../faults/fault-points.js';
import type { ColumnCipher, ColumnCiphers } from '../encryption/column-cipher.js';
import type { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { publish } from '../telemetry/publish.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import type { RecordedPhases } from './recorded-phases.js';
import type { Client } from '../response/client.js';
import { storeUnavailable } from './refusal.js';
import { Asker } from './asker.js';
import { Attempt, type AttemptRow } from './attempt.js';
import type { BusyKeys } from './busy-keys.js';
import { isConnectionLoss } from '../postgres/database-errors.js';
import type { StoreBreaker } from '../postgres/store-breaker.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { decide, isDecision, whyNotResumable, type Decision } from './decision.js';
import type { ReplayCache } from './replay-cache.js';
import type { FoundKey } from './found-key.js';
import { RequestReservation } from './reservation.js';
import type { KeyTransitions } from './key-transitions.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { persist } from '../postgres/retries.js';
import type { KeyedRequest } from '../request/request-reader.js';
import type { Reserver } from './reserver.js';
import { releaseReservation } from './release-reservation.js';

/** Far more rounds than any real race takes; only a broken store reaches this. */
const MOST_ROUNDS = 1_000;

/** Decides what a request with a key gets, and reserves the key if it is to run. */
export class Reservations {
  private closed = false;

  constructor(
    private readonly transitions: KeyTransitions,
    private readonly keys: Reserver,
    private readonly replays: ReplayCache,
    private readonly phases: RecordedPhases,
    private readonly leases: LeaseKeeper,
    private readonly busy: BusyKeys,
    private readonly ciphers: ColumnCiphers,
    private readonly breaker: StoreBreaker,
    private readonly storeTimeout: number,
    /** There is an operation for the workers. */
    private readonly wakeWorkers: () => void,
  ) {}

  /** For shutdown: new and waiting requests are for another process. */
  close(): void {
    this.closed = true;
    this.busy.close();
  }

  /** Repeats until there is a decision. With `run`, this request owns the key. */
  async reserve(
    request: KeyedRequest,
    policy: ResolvedPolicy,
    client: Client | undefined,
    cipher: ColumnCipher,
  ): Promise<Decision> {
    const reservation = new RequestReservation(request, policy, cipher);
    const asker = new Asker(reservation, policy, client);
    const lockedUntil = performance.now() + this.storeTimeout;
    let decision: Decision | undefined;
    this.leases.deciding();
    try {
      this.assertOpen();
      for (let round = 0; decision === undefined; round++) {
        if (round === MOST_ROUNDS) {
          throw new StoreUnavailableError(`A key could not be reserved in ${MOST_ROUNDS} rounds.`);
        }
        const asOf = performance.now();
        const result = await this.take(asker, () => this.keys.reserve(reservation));
        if (result.kind === 'reserved') {
          decision = run(asker, firstRun(result.id));
        } else if (result.kind === 'found') {
          const { key } = result;
          if (key.status === 'completed') this.replays.keep(reservation, key, asOf);
          decision = await this.decideFound(key, asker);
        } else if (result.kind === 'stale' || result.kind === 'limited') {
          decision = result;
        } else if (result.kind === 'locked' && performance.now() >= lockedUntil) {
          throw new StoreUnavailableError('The row of a key stays locked.', {
            cause: result.error,
          });
        }
      }
      if (decision.kind === 'run') this.leases.hold(decision.attempt);
    } finally {
      asker.leavePlace?.();
      const taken = decision?.kind !== 'run' && asker.unsure.length > 0;
      if (taken) void this.withdraw(asker);
      else this.leases.decided();
    }
    if (decision.kind === 'run') {
      const observed = faultPoint('reserved', decision.attempt);
      if (observed) await mortal(() => observed);
    }
    return decision;
  }

  /**
   * Nobody will run what was reserved: it must not lapse into an unknown outcome. A shutdown waits
   * for this, because no other process knows of it.
   */
  private async withdraw({ reservation, unsure }: Asker): Promise<void> {
    await releaseReservation(this.transitions, reservation, unsure);
    this.leases.decided();
  }

  /** The decision for an existing key; undefined if the request has to try again. */
  private async decideFound(key: FoundKey, asker: Asker): Promise<Decision | undefined> {
    const decided = decide(key, asker.reservation, asker.policy);
    if (isDecision(decided)) return decided;
    switch (decided.kind) {
      case 'ours':
        return this.goOn(key, asker);
      case 'forget':
        await this.transitions.forget(key);
        return undefined;
      case 'resume':
        return this.resume(key, asker);
      case 'running':
        return this.busy.running(key, asker);
      case 'pending':
        return { kind: 'accepted', id: key.id, runningFor: decided.runningFor };
      case 'unreadable':
        return this.unreadable(key, decided.fault, asker);
    }
  }

  /**
   * Another data key than the one that this process has: the scope was erased,
   * and this process or the row may not know it yet. After that, an answer that
   * nobody can read any more is gone; everything else is refused.
   */
  private async unreadable(
    key: FoundKey,
    fault: UnreadableRecordError,
    asker: Asker,
  ): Promise<Decision | undefined> {
    if (fault.reason === 'erased') {
      if (!asker.renewed) {
        asker.renewed = true;
        asker.reservation.cipher = await this.ciphers.renewed(key.scope);
        return undefined;
      }
      if (key.status === 'completed') return { kind: 'gone' };
    }
    publish('store_unavailable', () => ({ code: `unreadable_${fault.reason}` }));
    throw fault;
  }

  /** Only the reply to its reservation was lost. */
  private async goOn(key: FoundKey, asker: Asker): Promise<Decision | undefined> {
    const { reservation } = asker;
    const confirmed = await this.take(asker, () => this.transitions.confirm(reservation));
    if (!confirmed) return undefined;
    const phases = key.attempt > 1 ? await this.phases.of(key, reservation.cipher) : NO_PHASES;
    return run(asker, { ...key, number: key.attempt, recorded: phases });
  }

  private async resume(key: FoundKey, asker: Asker): Promise<Decision | undefined> {
    const { policy, reservation } = asker;
    const phases = await this.phases.of(key, reservation.cipher);
    const why = whyNotResumable(key, phases, policy);
    if (why !== undefined) {
      const declared = await this.transitions.declareUnknown(key, why, reservation.observed.route);
      return declared === 'locked' ? this.busy.locked(key, asker) : undefined;
    }
    if (policy.run === 'background' && key.operation !== null && key.status === 'in_progress') {
      return this.leaveToWorkers(key, asker);
    }
    this.assertOpen();
    const { owner, lease } = reservation;
    const taken = await this.take(asker, () => this.transitions.takeOver(key, owner, lease));
    if (taken === 'locked') return this.busy.locked(key, asker);
    if (taken === 'changed' && key.traceparent) reservation.observed.span?.link(key.traceparent);
    if (taken !== 'changed') return undefined;
    const died = key.status === 'in_progress';
    return run(asker, { ...key, number: key.attempt + 1, died, recorded: phases });
  }

  /** A worker died. Another one continues; the client only has to ask again. */
  private async leaveToWorkers(key: FoundKey, asker: Asker): Promise<Decision | undefined> {
    const released = await this.transitions.release(key);
    if (released === 'changed') this.wakeWorkers();
    return released === 'locked' ? this.busy.locked(key, asker) : undefined;
  }

  private assertOpen(): void {
    if (this.closed) throw storeUnavailable('This server is shutting down.');
  }

  /**
   * After a lost connection it is not known whether the key was reserved. The
   * same owner tries again, and if it was, finds itself in the row. While the
   * breaker is open, nobody waits for the database.
   */
  private take<T>({ unsure }: Asker, statement: () => Promise<T>): Promise<T> {
    const { breaker, storeTimeout } = this;
    return persist(() => breaker.guard(statement), {
      within: storeTimeout,
      again: (error) => {
        if (error instanceof StoreUnavailableError && error.late) unsure.push(error.late);
        return isConnectionLoss(error) && !breaker.isOpen;
      },
    });
  }
}

const NO_PHASES: readonly PhaseRecord[] = [];

/** A new key, as its first attempt finds it. */
function firstRun(id: string): AttemptRow {
  return { id, number: 1, recoveryPoint: 'started', resumeAttempts: 0, recorded: NO_PHASES };
}

function run({ reservation, policy }: Asker, row: AttemptRow): Decision {
  return { kind: 'run', attempt: new Attempt(reservation, policy, row) };
}
