import { Injectable } from '@nestjs/common';
import { OutboxHandler, type DeliveredMessage } from 'nestjs-atomic-idempotency';
import { PaymentClient } from '../payments/payment-client.js';
import { CURRENCY } from './fares.js';

export const SEND_RECEIPT = 'receipts.send';

export interface Receipt {
  rideId: string;
  email: string;
  /** In cents. */
  amount: number;
}

/** Sends the receipts that rides have put into the outbox. */
@Injectable()
export class ReceiptSender {
  constructor(private readonly payments: PaymentClient) {}

  /**
   * May get a receipt again whose mail is out already, if a process died before
   * it could note that. The message's id is the same each time, so the provider
   * mails once. Whatever this throws, the outbox tries again later.
   */
  @OutboxHandler(SEND_RECEIPT)
  async send({ id, payload, signal }: DeliveredMessage<Receipt>): Promise<void> {
    const { rideId, email, amount } = payload;
    await this.payments.mailReceipt(
      { email, amount, currency: CURRENCY, description: `Receipt for ride ${rideId}` },
      { idempotencyKey: id, signal },
    );
  }
}
