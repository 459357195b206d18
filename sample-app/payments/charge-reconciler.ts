import { Injectable } from '@nestjs/common';
import { Reconciler, type DoubtfulEffect, type Reconciliation } from 'nestjs-atomic-idempotency';
import { PaymentClient, type BookedCharge } from './payment-client.js';

/**
 * How long the provider may be busy with a charge at most. Before that, "not
 * found" can still turn into a charge.
 */
const LONGEST_PROCESSING_MS = 10 * 60_000;

/** Finds out what became of a charge that was begun and whose answer is missing. */
@Injectable()
export class ChargeReconciler {
  constructor(private readonly payments: PaymentClient) {}

  @Reconciler('charge_created')
  async lookUp({ idempotencyKey, startedAt }: DoubtfulEffect): Promise<Reconciliation> {
    return assess(await this.payments.findCharge(idempotencyKey), startedAt);
  }
}

function assess(charge: BookedCharge | undefined, startedAt: Date): Reconciliation {
  if (!charge) {
    const settled = Date.now() - startedAt.getTime() > LONGEST_PROCESSING_MS;
    return { outcome: settled ? 'not_executed' : 'unknown' };
  }
  // No money moved, and none will. The retry asks again and hears the no itself.
  if (charge.declined !== undefined) return { outcome: 'not_executed' };
  // The same shape as what `call` returns: `record` goes on with it.
  return { outcome: 'executed', result: charge };
}
