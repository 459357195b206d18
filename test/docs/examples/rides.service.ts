import { Injectable } from '@nestjs/common';
import { AtomicPhase, Resumable } from 'nestjs-atomic-idempotency';
import { Order } from './order.entity.js';
import { Payments } from './payments.js';

@Injectable()
export class RidesService {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: Payments,
  ) {}

  @Resumable('rides.create') // the name is stored: keep it between deployments
  async create(ride: { item: string; amount: number }) {
    const order = await this.phase.local('order_created', async (tx) => {
      const { id } = await tx.save(Order, ride);
      return { id };
    });
    const charge = await this.phase.foreign('charge_created', {
      call: ({ idempotencyKey }) => this.payments.charge(ride.amount, { idempotencyKey }),
      inDoubt: 'repeat',
    });
    return { order: order.id, charge: charge.chargeId };
  }
}
