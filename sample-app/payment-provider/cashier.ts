import { randomUUID } from 'node:crypto';
import type {
  ChargeEntry,
  ChargeRequest,
  Ledger,
  LedgerEntry,
  ReceiptEntry,
  ReceiptRequest,
  TransferEntry,
  TransferRequest,
} from './ledger.js';
import { OncePerKey } from './once-per-key.js';

/** The card number that never has enough money on it. */
const DECLINED_CARD = 'card_declined';

/**
 * Books charges, receipts and transfers. A charge is booked, and a receipt is
 * mailed, once per idempotency key. A transfer knows no keys: asked twice, it
 * moves the money twice, as many an older interface does.
 */
export class Cashier {
  private readonly charges = new OncePerKey<ChargeRequest, ChargeEntry>();
  private readonly receipts = new OncePerKey<ReceiptRequest, ReceiptEntry>();

  constructor(private readonly ledger: Ledger) {
    for (const entry of ledger.entries) {
      if (entry.kind === 'charge') this.charges.remember(entry);
      if (entry.kind === 'receipt') this.receipts.remember(entry);
    }
  }

  charge(
    idempotencyKey: string,
    request: ChargeRequest,
    options: { decline: boolean },
  ): Promise<ChargeEntry> {
    return this.charges.entryOf(idempotencyKey, request, () => {
      const declined = options.decline || request.card === DECLINED_CARD;
      return this.book({
        kind: 'charge',
        id: `ch_${randomUUID()}`,
        idempotencyKey,
        ...request,
        ...(declined && { declined: 'insufficient_funds' }),
        createdAt: new Date().toISOString(),
      });
    });
  }

  /** The entry in the ledger stands for the mail. */
  mailReceipt(idempotencyKey: string, request: ReceiptRequest): Promise<ReceiptEntry> {
    return this.receipts.entryOf(idempotencyKey, request, () =>
      this.book({
        kind: 'receipt',
        id: `rc_${randomUUID()}`,
        idempotencyKey,
        ...request,
        createdAt: new Date().toISOString(),
      }),
    );
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
    return this.charges.find(idempotencyKey);
  }

  private async book<E extends LedgerEntry>(entry: E): Promise<E> {
    await this.ledger.append(entry);
    return entry;
  }
}
