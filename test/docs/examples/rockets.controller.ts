import { Body, Controller, Post, UseGuards } from '@nestjs/common';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { AuthGuard } from './auth.guard.js';
import { Order } from './order.entity.js';
import { Payments } from './payments.js';

@Controller('rockets')
@UseGuards(AuthGuard)
export class RocketsController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: Payments,
  ) {}

  @Post()
  @Idempotent({ phased: true })
  async buy(@Body() { item, amount }: { item: string; amount: number }) {
    // One transaction: the order, and the note that it was made.
    const order = await this.phase.local('order_created', (tx) => tx.save(Order, { item, amount }));
    // The intent is committed, then the card is charged, then the outcome is committed.
    const charge = await this.phase.foreign('charge_created', {
      call: ({ idempotencyKey }) => this.payments.charge(amount, { idempotencyKey }),
      inDoubt: 'repeat', // this provider charges once per key
      keyValidFor: '24h', // and remembers it for a day
    });
    return { order: order.id, charge: charge.chargeId };
  }
}
