import { Body, Controller, Post, type Type } from '@nestjs/common';
import { AtomicPhase, Idempotent, type IdempotencyPolicy } from 'nestjs-atomic-idempotency';

export const ORDERS_TABLE = 'CREATE TABLE orders (id serial, number text NOT NULL)';

/** What the payment provider has in its books. It honours effect keys. */
export class Ledger {
  readonly charges: { effectKey: string; order: string }[] = [];

  charge(effectKey: string, order: string): { charge: number } {
    let at = this.charges.findIndex((charge) => charge.effectKey === effectKey);
    if (at < 0) at = this.charges.push({ effectKey, order }) - 1;
    return { charge: at };
  }

  /** The same provider, asked under a number that the business has: it accepts each once. */
  chargeOnce(order: string, effectKey: string): { charge: number } {
    const at = this.charges.findIndex((charge) => charge.order === order);
    return at < 0 ? this.charge(effectKey, order) : { charge: at };
  }

  of(order: string): string[] {
    return this.charges.filter((each) => each.order === order).map(({ effectKey }) => effectKey);
  }
}

/** An order in phases: a row, a charge, and an answer. */
export function ordersController(ledger: Ledger, policy: IdempotencyPolicy = {}): Type {
  @Controller()
  class OrdersController {
    constructor(private readonly phases: AtomicPhase) {}

    @Post('orders')
    @Idempotent({ ...policy, phased: true })
    order(@Body() { number }: { number: string }) {
      return this.place(number, (effectKey) => ledger.charge(effectKey, number));
    }

    @Post('numbered-orders')
    @Idempotent({ ...policy, phased: true })
    numbered(@Body() { number }: { number: string }) {
      return this.place(number, (effectKey) => ledger.chargeOnce(number, effectKey));
    }

    private async place(number: string, charge: (effectKey: string) => { charge: number }) {
      const { id } = await this.phases.local('order_created', async (tx) => {
        const [row] = await tx.query('INSERT INTO orders (number) VALUES ($1) RETURNING id', [
          number,
        ]);
        return row as { id: number };
      });
      const charged = await this.phases.foreign('charged', {
        call: async ({ idempotencyKey }) => charge(idempotencyKey),
        inDoubt: 'repeat',
        keyValidFor: '24h',
      });
      return { id, ...charged };
    }
  }
  return OrdersController;
}
