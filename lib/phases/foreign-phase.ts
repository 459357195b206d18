import type { EntityManager } from 'typeorm';
import type { Duration } from '../policy/duration.js';
import type { InDoubt } from '../schema/phase-record.js';

/** The argument of a foreign call. */
export interface ForeignEffect {
  /** The effect key: pass it to the other system as its idempotency key. */
  idempotencyKey: string;
  /** The phase's `request` as it was stored with the first intent, also on a repeat. */
  request: unknown;
  /** 1 for the first run, +1 for each takeover. */
  attempt: number;
  /** Aborts when the lease is lost: what the call returns after that is not kept. */
  signal: AbortSignal;
}

/** A phase that acts on another system, with exactly one call. */
export interface ForeignPhase<R, T = R> {
  /**
   * Makes the call, outside any transaction. A returned value is its result; an
   * HttpException below 500 is a definite rejection by the other system; any
   * other error leaves the call in doubt. So do 408, 425 and 429, which say
   * "later" and not "no".
   *
   * A resume throws the rejection again, with the same status, response, name and
   * message but of class HttpException: code that catches it should check these
   * and not the class.
   */
  call: (effect: ForeignEffect) => Promise<R>;

  /** JSON, stored with the intent: for a repeat, a reconciler, an operator. */
  request?: unknown;

  /** Writes of your own that commit together with the result; what it returns becomes the phase's result. */
  record?: (tx: EntityManager, result: R) => Promise<T>;

  /**
   * What to do when the outcome is not known: call again under the same effect
   * key (the other system must honour it), ask the `@Reconciler()`, or stop and
   * keep the key as `unknown`.
   * @default 'stop'
   */
  inDoubt?: InDoubt;

  /**
   * How long the other system remembers the effect key; after that, `'repeat'`
   * acts as `'stop'`.
   */
  keyValidFor?: Duration;

  /**
   * Proof that the call never reached the other system, such as a refused
   * connection. A time-out or a reset is no proof.
   */
  notExecuted?: (error: unknown) => boolean;
}
