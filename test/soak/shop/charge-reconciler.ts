import { Inject, Injectable } from '@nestjs/common';
import { Reconciler, type DoubtfulEffect, type Reconciliation } from 'nestjs-atomic-idempotency';
import { RemoteControl } from '../../../sample-app/payment-provider/remote-control.js';
import { PaymentClient } from '../../../sample-app/payments/payment-client.js';
import { PaymentDeclinedException } from '../../../sample-app/payments/payment-declined.exception.js';
import {
  PAYMENT_OPTIONS,
  type PaymentOptions,
} from '../../../sample-app/payments/payment-options.js';
import type { ChargeIntent } from './purchases.js';

/** Looks into the provider's books. */
@Injectable()
export class ChargeReconciler {
  private readonly books: RemoteControl;

  constructor(
    private readonly payments: PaymentClient,
    @Inject(PAYMENT_OPTIONS) { url }: PaymentOptions,
  ) {
    this.books = new RemoteControl(url);
  }

  @Reconciler('charge_created')
  async lookUp({ idempotencyKey, request }: DoubtfulEffect): Promise<Reconciliation> {
    const { key, inDoubt } = request as ChargeIntent;
    if (inDoubt === 'stop') {
      const transfers = await this.books.transfers();
      const found = transfers.find(({ description }) => description === key);
      // A process that was stopped in its call may still send it: "not executed" would be a guess.
      return found ? { outcome: 'executed', result: found } : { outcome: 'unknown' };
    }
    const charge = await this.payments.findCharge(idempotencyKey);
    // A call that comes later is harmless: the provider charges once per effect key.
    if (!charge) return { outcome: 'not_executed' };
    return charge.declined === undefined
      ? { outcome: 'executed', result: charge }
      : { outcome: 'rejected', error: new PaymentDeclinedException(charge.declined) };
  }
}
