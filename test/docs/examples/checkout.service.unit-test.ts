import { Test } from '@nestjs/testing';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { CheckoutService } from './checkout.service.js';
import { Payments } from './payments.js';

/** Stands in for the database: only what the service calls. */
const tx = { save: async () => ({ id: 1 }), update: async () => undefined };

/** Phases without a record: each one just runs. */
const phase = {
  local: (_name: string, work: (manager: typeof tx) => Promise<unknown>) => work(tx),
  foreign: async (
    _name: string,
    { call, record }: { call: Function; record: Function },
  ): Promise<unknown> => record(tx, await call({ idempotencyKey: 'a-key' })),
};

export async function checkoutService(): Promise<CheckoutService> {
  const testing = await Test.createTestingModule({
    providers: [CheckoutService, Payments, { provide: AtomicPhase, useValue: phase }],
  }).compile();
  return testing.get(CheckoutService);
}
