import { Injectable } from '@nestjs/common';
import { Outbox, OutboxHandler, type DeliveredMessage } from 'nestjs-atomic-idempotency';
import type { EntityManager } from 'typeorm';
import { Mailer } from './mailer.js';

@Injectable()
export class OrderMails {
  constructor(
    private readonly outbox: Outbox,
    private readonly mailer: Mailer,
  ) {}

  // Part of your transaction: the tx of a local phase, or of dataSource.transaction().
  async confirm(tx: EntityManager, order: number, to: string) {
    await this.outbox.add(tx, 'orders.confirm', { order, to }, { orderingKey: `order-${order}` });
  }

  // After the commit, in this process or another one, at least once, always under the same id.
  @OutboxHandler('orders.confirm')
  async send({ id, payload }: DeliveredMessage<{ order: number; to: string }>) {
    await this.mailer.send(payload.to, `Order ${payload.order}`, { idempotencyKey: id });
  }
}
