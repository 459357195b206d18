import { Injectable } from '@nestjs/common';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { Bank } from './bank.js';

@Injectable()
export class PayoutsService {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly bank: Bank,
  ) {}

  payOut(iban: string, amount: number) {
    return this.phase.foreign('transfer_made', {
      request: { iban, amount },
      // The bank knows no idempotency keys, but it stores a reference that it can search for.
      call: ({ idempotencyKey }) => this.bank.transfer(iban, amount, { reference: idempotencyKey }),
      inDoubt: 'reconcile',
    });
  }
}
