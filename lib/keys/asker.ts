import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { Client } from '../response/client.js';
import type { Reservation } from './reservation.js';

/** A request that asks for its key. A class for the same reason as its reservation. */
export class Asker {
  /** By performance.now(). */
  readonly waitUntil: number;
  /** Statements without a reply, which may have reserved the key, or may still do so. */
  readonly unsure: Promise<unknown>[] = [];
  /** How often the key's row was locked when it was to be changed. */
  timesLocked = 0;
  /** The data key of the scope was read again. */
  renewed = false;
  /** Gives back its place among those that wait; null if there was none for it. */
  leavePlace: (() => void) | null | undefined;

  constructor(
    readonly reservation: Reservation,
    readonly policy: ResolvedPolicy,
    /** Undefined if it is not known whether the client is still there. */
    readonly client: Client | undefined,
  ) {
    this.waitUntil = performance.now() + policy.waitFor;
  }
}
