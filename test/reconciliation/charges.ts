import { Injectable } from '@nestjs/common';
import {
  Reconciler,
  type DoubtfulEffect,
  type InDoubt,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { note, type PhaseApp } from '../support/phase-app.js';

/** What the other system is asked, and what it says, which is up to the test. */
@Injectable()
export class Charges {
  readonly asked: DoubtfulEffect[] = [];
  says: (effect: DoubtfulEffect) => unknown = () => ({ outcome: 'unknown' });

  @Reconciler('charge_created')
  lookUp(effect: DoubtfulEffect): Promise<Reconciliation> {
    this.asked.push(effect);
    return this.says(effect) as Promise<Reconciliation>;
  }
}

/**
 * POST /charge: a charge whose first answer is lost, so that its outcome is in
 * doubt; then a receipt. Returns the effect keys of the calls that were made.
 */
export function handleCharge(app: PhaseApp, inDoubt: InDoubt = 'stop'): string[] {
  const calls: string[] = [];
  app.handle('charge', async (phases) => {
    const charge = await phases.foreign('charge_created', {
      request: { amount: 100 },
      call: async ({ idempotencyKey }) => {
        calls.push(idempotencyKey);
        if (calls.length === 1) throw new Error('time-out');
        return { id: `call ${calls.length}` };
      },
      record: async (tx, result) => {
        await note(tx, `recorded ${JSON.stringify(result)}`);
        return result;
      },
      inDoubt,
    });
    await phases.local('receipt_staged', (tx) => note(tx, 'receipt'));
    return charge;
  });
  return calls;
}
