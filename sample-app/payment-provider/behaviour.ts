/**
 * What the provider can be told to do with a coming request. "Before" and
 * "after" mean before and after the money moved, that is, the ledger was
 * written: the moment on which everything in this sample turns.
 */
export const BEHAVIOURS = [
  'normal',
  /** Refuses the payment. */
  'decline',
  /** Books at once, answers after a while (`SLOW_MS`). */
  'slow',
  /** Cuts the connection without having booked anything. */
  'drop_before',
  /** Books, then cuts the connection: the answer is lost. */
  'drop_after',
  /** Books, then answers 500. */
  'error_after',
  /** Stands still before booking, until it is released. */
  'hold_before',
  /** Books, then keeps the answer back until it is released. */
  'hold_after',
] as const;

export type Behaviour = (typeof BEHAVIOURS)[number];

export function isBehaviour(value: unknown): value is Behaviour {
  return BEHAVIOURS.includes(value as Behaviour);
}

/** The orders for the coming requests, first come, first served; then all is normal again. */
export class BehaviourQueue {
  private orders: Behaviour[] = [];

  /** Replaces what is left of earlier orders. */
  order(behaviours: Behaviour[]): void {
    this.orders = [...behaviours];
  }

  next(): Behaviour {
    return this.orders.shift() ?? 'normal';
  }
}
