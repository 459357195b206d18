import { Controller } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';

interface Shipment {
  order: number;
}

@Controller()
export class ShipmentsController {
  constructor(private readonly phase: AtomicPhase) {}

  /** Its sender waits for the result. */
  @MessagePattern('shipments.create')
  @Idempotent({ phased: true })
  async create(@Payload() { order }: Shipment) {
    return this.phase.local('shipment_created', async (tx) => {
      await tx.query('INSERT INTO shipments ("order") VALUES ($1)', [order]);
      return { order, state: 'created' };
    });
  }

  /** Nobody waits; RabbitMQ keeps the message until it is acknowledged. */
  @EventPattern('orders.paid', Transport.RMQ)
  @Idempotent({ phased: true, settle: true, key: (paid: Shipment) => paid.order })
  async onPaid(@Payload() { order }: Shipment) {
    await this.phase.local('shipment_released', async (tx) => {
      await tx.query('UPDATE shipments SET released = true WHERE "order" = $1', [order]);
    });
  }
}
