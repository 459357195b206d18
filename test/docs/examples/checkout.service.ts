import { Injectable } from '@nestjs/common';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { Order } from './order.entity.js';
import { Payments } from './payments.js';

@Injectable()
export class CheckoutService {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: Payments,
  ) {}

  async checkout(item: string, amount: number) {
    // One transaction: your writes, the phase's result and the recovery point.
    const order = await this.phase.local('order_created', async (tx) => {
      const { id } = await tx.save(Order, { item, amount });
      return { id };
    });

    // Intent committed → one call, outside any transaction → outcome committed.
    const charge = await this.phase.foreign('charge_created', {
      request: { amount, order: order.id },
      call: ({ idempotencyKey }) => this.payments.charge(amount, { idempotencyKey }),
      record: async (tx, { chargeId }) => {
        await tx.update(Order, order.id, { chargeId });
        return { chargeId };
      },
      inDoubt: 'repeat', // the provider honours the effect key
      keyValidFor: '24h', // and remembers it for a day
    });

    return { order: order.id, charge: charge.chargeId };
  }
}
