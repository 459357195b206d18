import type { Names } from '../policy/unknown-names.js';

/**
 * How much one scope may have. A limit that is left out does not hold. Only new keys are
 * refused, with 429, and duplicates that would wait; nothing that exists is ever removed
 * to make room.
 */
export interface Limits {
  /**
   * New keys per second, on average, in each process. Fractions are allowed: `0.1` is
   * one in ten seconds.
   */
  newKeysPerSecond?: number;
  /**
   * How many new keys may come at once after a pause. Raise it for clients that work in
   * batches.
   * @default newKeysPerSecond, rounded up
   */
  burst?: number;
  /**
   * Operations that are not finished: attempts that run in this process, and what waits for a
   * worker, the reconciler or a person, in all of them.
   */
  outstanding?: number;
  /**
   * Duplicates that wait for a running attempt (`onInProgress: 'wait'`), in each process.
   * One more gets the answer of `'reject'` at once.
   */
  waiting?: number;
  /** Keys that are stored, whatever their state. */
  storedKeys?: number;
  /** Bytes of stored keys: their answers, requests and inputs, and 512 for each row. */
  storedBytes?: number;
}

export const LIMIT_NAMES = {
  newKeysPerSecond: true,
  burst: true,
  outstanding: true,
  waiting: true,
  storedKeys: true,
  storedBytes: true,
} satisfies Names<Limits>;

/**
 * The same for all scopes, or by scope: the limits of its plan. What a function returns
 * holds for ten seconds. If it fails, or returns nothing, the scope's new keys are refused
 * with 503. Return `{}` for a scope without limits.
 */
export type LimitsOption = Limits | ((scope: string) => Limits | Promise<Limits>);

/** Which limit a request met. */
export type LimitName = Exclude<keyof Limits, 'burst'>;
