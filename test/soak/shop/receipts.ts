import { Injectable } from '@nestjs/common';
import { OutboxHandler, type DeliveredMessage } from 'nestjs-atomic-idempotency';
import { PaymentClient } from '../../../sample-app/payments/payment-client.js';

export interface Receipt {
  customer: string;
  number: number;
  key: string;
}

/** Mails receipts. The provider's ledger keeps the order in which they arrived. */
@Injectable()
export class Receipts {
  constructor(private readonly payments: PaymentClient) {}

  @OutboxHandler('receipts')
  async mail({ id, payload, signal }: DeliveredMessage<Receipt>): Promise<void> {
    const { customer, number, key } = payload;
    await this.payments.mailReceipt(
      { email: customer, amount: number, currency: 'usd', description: key },
      { idempotencyKey: id, signal },
    );
  }
}
