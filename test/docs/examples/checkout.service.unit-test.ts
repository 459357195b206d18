import { FakeAtomicPhase } from 'nestjs-atomic-idempotency/testing';
import { CheckoutService } from './checkout.service.js';
import { Payments } from './payments.js';

export function checkoutUnderTest() {
  // Stands in for the database: only what the service calls.
  const tx = { save: async () => ({ id: 1 }), update: async () => undefined };
  const phase = new FakeAtomicPhase({ tx });
  const payments = new Payments();
  return { phase, payments, checkout: new CheckoutService(phase, payments) };
}
