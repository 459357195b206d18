import type { NewKeyLimits, Permit } from '../limits/new-key-limits.js';
import { senderOf, type StatementSender } from '../postgres/statement-sender.js';
import type { KeyBatches, Reserved } from './key-batches.js';
import type { KeyStore } from './key-store.js';
import type { Reservation, ReserveResult } from './reservation.js';
import { storeUnavailable } from './refusal.js';
import type { LimitedKey, Reserver } from './reserver.js';

/**
 * Reserves keys within the limits of their scopes. A request without a permit reads its key
 * instead of reserving it: if there is a row, it is no new key, and no limit concerns it.
 */
export class LimitedReservations implements Reserver {
  private readonly lookUps: StatementSender<Reservation, ReserveResult>;

  /** @param wait how long a request waits for its statement to be sent, in milliseconds */
  constructor(
    private readonly batches: KeyBatches,
    private readonly limits: NewKeyLimits,
    keys: KeyStore,
    wait: number,
    batching: boolean,
  ) {
    const weigh = ({ scope, key }: Reservation) => scope.length + key.length;
    this.lookUps = senderOf(batching, (wanted) => keys.lookUp(wanted), {
      name: 'look-ups',
      wait,
      weigh,
    });
  }

  async reserve(reservation: Reservation): Promise<Reserved | LimitedKey> {
    if (!reservation.ofClient) return this.batches.reserve(reservation);
    const first = await this.limits.ask(reservation.scope);
    if (first.kind === 'permit') return this.reserveWith(first, reservation);
    const found = await this.lookUps.call(reservation);
    if (found.kind !== 'missed') return found as Reserved;
    // Retries of other keys may have had permits for a moment, and given them back.
    const second = await this.limits.ask(reservation.scope);
    if (second.kind === 'permit') return this.reserveWith(second, reservation);
    if (second.kind === 'limited') return second;
    throw storeUnavailable(
      'The request was not processed, because the limits of its caller could not be checked.',
    );
  }

  private async reserveWith(permit: Permit, reservation: Reservation): Promise<Reserved> {
    let tookKey = false;
    try {
      const result = await this.batches.reserve(reservation);
      tookKey = result.kind === 'reserved';
      return result;
    } finally {
      permit.decided(tookKey);
    }
  }
}
