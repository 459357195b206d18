import type { Behaviour } from './provider.js';

// The words that the model and the real application have in common.

export interface Policy {
  inDoubt: 'repeat' | 'reconcile' | 'stop';
  onAbandoned: 'resume' | 'unknown';
}

export interface NamedKey {
  name: string;
  policy: Policy;
}

/** What a client is told. `final` comes with the status that every later answer has too. */
export type Told =
  | { kind: 'final'; status: 201 | 402 }
  | { kind: 'failed' | 'in_progress' | 'unknown' | 'lease_lost' };

/** What surrounds one request. */
export interface Circumstances {
  behaviour: Behaviour;
  /**
   * A silent one always answers "unknown". A careful one does so where nothing is
   * booked: "not executed" would be a promise that no call is still to come.
   */
  reconciler: 'answers' | 'is_careful' | 'is_silent';
}

export const WELL: Circumstances = { behaviour: 'charges', reconciler: 'answers' };

/** The handler's phases, in their order. */
export const RECOVERY_POINTS = [
  'started',
  'order_created',
  'charge_created',
  'receipt_staged',
  'finished',
] as const;

export type RecoveryPoint = (typeof RECOVERY_POINTS)[number];

/** As much of a key as a client can tell apart. */
export interface KeyState {
  status: 'in_progress' | 'completed' | 'failed_retryable' | 'unknown';
  recoveryPoint: RecoveryPoint;
  attempt: number;
  /** The foreign phase. */
  charge: 'none' | 'intended' | 'withdrawn' | 'reconciled' | 'finished' | 'rejected';
}
