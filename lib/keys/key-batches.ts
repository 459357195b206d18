import { isLockTimeout } from '../postgres/database-errors.js';
import { Failed } from '../postgres/batcher.js';
import { senderOf, type StatementSender } from '../postgres/statement-sender.js';
import type { KeyOutcome, RecordedOutcome } from './key-outcome.js';
import type { KeyStore } from './key-store.js';
import type { Reservation, ReserveResult } from './reservation.js';
import { LockedKeys } from './locked-keys.js';
import type { Reserver } from './reserver.js';

/** A reservation, or an outcome. Classes, because they live as long as their requests: see "Garbage collection" in bench/README.md. */
type Call = Reserve | Finish;

class Reserve {
  readonly kind = 'reserve';

  constructor(readonly reservation: Reservation) {}
}

class Finish {
  readonly kind = 'finish';

  constructor(readonly outcome: KeyOutcome) {}
}

/** The call fails if the key could not be read. */
export type Reserved = Exclude<ReserveResult, { kind: 'unread' }>;

type Result = Reserved | RecordedOutcome | undefined;

/** A larger answer is sent by itself: small ones should not wait until its bytes have travelled. */
const LARGE = 16 * 1024;

/**
 * The two statements that every request needs, batched over the requests of this
 * process: reservations and outcomes of different requests share a statement.
 */
export class KeyBatches implements Reserver {
  private readonly calls: StatementSender<Call, Result>;
  private readonly locked = new LockedKeys();

  /**
   * @param wait how long a request waits for its statement to be sent, in milliseconds
   * @param batching false: each request sends its own statements
   * @param exhausted whether all connections are in use
   */
  constructor(
    private readonly keys: KeyStore,
    wait: number,
    batching = true,
    exhausted?: () => boolean,
  ) {
    this.calls = senderOf(batching, (batch) => this.send(batch), {
      name: 'keys',
      wait,
      weigh,
      exhausted,
    });
  }

  reserve(reservation: Reservation): Promise<Reserved> {
    return this.locked.has(reservation)
      ? this.reserveLocked(reservation)
      : (this.calls.call(new Reserve(reservation)) as Promise<Reserved>);
  }

  /** The key was locked a moment ago: it is read first, without a lock, and by itself. */
  private async reserveLocked(reservation: Reservation): Promise<Reserved> {
    const [found] = await this.keys.lookUp([reservation]);
    if (found?.kind === 'found') return found;
    return this.calls.call(new Reserve(reservation), true) as Promise<Reserved>;
  }

  /**
   * Undefined: the lease is lost.
   *
   * @param alone sent by itself
   */
  finish(outcome: KeyOutcome, alone = false): Promise<RecordedOutcome | undefined> {
    return this.calls.call(new Finish(outcome), alone || isLarge(outcome)) as Promise<
      RecordedOutcome | undefined
    >;
  }

  private async send(calls: readonly Call[]): Promise<(Result | Failed)[]> {
    const wanted: Reservation[] = [];
    const outcomes: KeyOutcome[] = [];
    for (const call of calls) {
      if (call.kind === 'reserve') wanted.push(call.reservation);
      else outcomes.push(call.outcome);
    }
    const { reserved, recorded } = await this.carryOut(wanted, outcomes);
    return calls.map((call) => {
      if (call.kind === 'finish') {
        return recorded instanceof Failed ? recorded : recorded.get(call.outcome.owner);
      }
      const result = reserved.shift()!;
      return result.kind === 'unread' ? new Failed(result.error) : result;
    });
  }

  /**
   * If the row of a key stays locked, its last committed version is read instead.
   * The next requests for it read first, and wait for no lock.
   */
  private async reserveAll(wanted: Reservation[]): Promise<ReserveResult[]> {
    try {
      return await this.keys.reserve(wanted);
    } catch (error) {
      const [only] = wanted;
      if (wanted.length > 1 || !isLockTimeout(error)) throw error;
      this.locked.add(only!);
      const [found] = await this.keys.lookUp([only!]);
      return [found?.kind === 'missed' ? { kind: 'locked', error } : found!];
    }
  }

  private async carryOut(
    wanted: Reservation[],
    outcomes: KeyOutcome[],
  ): ReturnType<KeyStore['reserveAndFinish']> {
    if (outcomes.length === 0) {
      return { reserved: await this.reserveAll(wanted), recorded: new Map() };
    }
    if (wanted.length > 0) return this.keys.reserveAndFinish(wanted, outcomes);
    return { reserved: [], recorded: await this.keys.finish(outcomes) };
  }
}

function isLarge({ responseBody }: KeyOutcome): boolean {
  return responseBody !== null && responseBody.length > LARGE;
}

function weigh(call: Call): number {
  return call.kind === 'reserve'
    ? call.reservation.scope.length + call.reservation.key.length + 100
    : (call.outcome.responseBody?.length ?? 0) + 300;
}
