import { randomUUID } from 'node:crypto';
import type {
  ChargeEntry,
  ChargeRequest,
  Ledger,
  TransferEntry,
  TransferRequest,
} from './ledger.js';

/** The card number that never has enough money on it. */
const DECLINED_CARD = 'card_declined';

/** The same Idempotency-Key came with another request: refused, nothing booked. */
export class KeyReusedError extends Error {}

/**
 * Books charges and transfers. A charge is booked once per idempotency key, for
 * as long as the ledger exists. A transfer knows no keys: asked twice, it moves
 * the money twice, as many an older interface does.
 */
export class Cashier {
  /**
   * Holds the promise, not the finished entry: a second request that arrives
   * while the first is still being written must find it.
   */
  private readonly chargesByKey = new Map<string, Promise<ChargeEntry>>();

  constructor(private readonly ledger: Ledger) {
    for (const entry of ledger.entries) {
      if (entry.kind === 'charge') {
        this.chargesByKey.set(entry.idempotencyKey, Promise.resolve(entry));
      }
    }
  }

  async charge(
    idempotencyKey: string,
    request: ChargeRequest,
    options: { decline: boolean },
  ): Promise<ChargeEntry> {
    let booking = this.chargesByKey.get(idempotencyKey);
    if (!booking) {
      const declined = options.decline || request.card === DECLINED_CARD;
      booking = this.book({
        kind: 'charge',
        id: `ch_${randomUUID()}`,
        idempotencyKey,
        ...request,
        ...(declined && { declined: 'insufficient_funds' }),
        createdAt: new Date().toISOString(),
      });
      this.chargesByKey.set(idempotencyKey, booking);
    }
    const charge = await booking;
    if (!sameCharge(charge, request)) {
      throw new KeyReusedError(`The key ${idempotencyKey} belongs to the charge ${charge.id}.`);
    }
    return charge;
  }

  transfer(request: TransferRequest, options: { decline: boolean }): Promise<TransferEntry> {
    return this.book({
      kind: 'transfer',
      id: `tr_${randomUUID()}`,
      ...request,
      ...(options.decline && { declined: 'recipient_blocked' }),
      createdAt: new Date().toISOString(),
    });
  }

  async findCharge(idempotencyKey: string): Promise<ChargeEntry | undefined> {
    return this.chargesByKey.get(idempotencyKey);
  }

  private async book<E extends ChargeEntry | TransferEntry>(entry: E): Promise<E> {
    await this.ledger.append(entry);
    return entry;
  }
}

function sameCharge(charge: ChargeEntry, request: ChargeRequest): boolean {
  return (
    charge.amount === request.amount &&
    charge.currency === request.currency &&
    charge.card === request.card &&
    charge.description === request.description
  );
}
