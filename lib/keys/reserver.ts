import type { LimitName } from '../limits/limits.options.js';
import type { Reserved } from './key-batches.js';
import type { Reservation } from './reservation.js';

/** The key is new, and its scope may have no other now. There is no row of it. */
export interface LimitedKey {
  kind: 'limited';
  limit: LimitName;
  /** Milliseconds until it is worth asking again. */
  retryIn: number;
}

/** Reserves a key if it is free, and reads it otherwise. Without limits, that is KeyBatches. */
export interface Reserver {
  reserve(reservation: Reservation): Promise<Reserved | LimitedKey>;
}
