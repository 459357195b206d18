import type { INestApplicationContext } from '@nestjs/common';
import { verifyReconciler } from 'nestjs-atomic-idempotency/testing';
import { Bank } from './bank.js';

export async function transfersAreFound(app: INestApplicationContext): Promise<string> {
  const bank = app.get(Bank);
  const { table } = await verifyReconciler(app, {
    recoveryPoint: 'transfer_made',
    request: { iban: 'DE00', amount: 100 },
    // As the phase does it; what it returns is what the reconciler has to find.
    execute: ({ idempotencyKey }) => bank.transfer('DE00', 100, { reference: idempotencyKey }),
    breakProvider: () => bank.goDown(),
    observe: () => ({ transfers: bank.transfers.length }),
  });
  return table;
}
