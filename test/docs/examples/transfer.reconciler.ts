import { Injectable } from '@nestjs/common';
import { Reconciler, type DoubtfulEffect, type Reconciliation } from 'nestjs-atomic-idempotency';
import { Bank } from './bank.js';

/** The longest time that the bank may still be busy with a transfer. */
const LONGEST_PROCESSING = 10 * 60_000;

@Injectable()
export class TransferReconciler {
  constructor(private readonly bank: Bank) {}

  @Reconciler('transfer_made') // the name of the phase
  async lookUp({ idempotencyKey, startedAt }: DoubtfulEffect): Promise<Reconciliation> {
    const transfer = await this.bank.findByReference(idempotencyKey);
    if (transfer) return { outcome: 'executed', result: transfer }; // as `call` would return it
    // "Not found" is a promise that it will not happen later either.
    const settled = Date.now() - startedAt.getTime() > LONGEST_PROCESSING;
    return { outcome: settled ? 'not_executed' : 'unknown' };
  }
}
