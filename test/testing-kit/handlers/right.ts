import { randomUUID } from 'node:crypto';
import { Body, Controller, Injectable, Post } from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  Outbox,
  OutboxHandler,
  Resumable,
  type DeliveredMessage,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';
import { Provider } from './provider.js';

/** An operation that a worker can complete. */
@Injectable()
export class Checkout {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly provider: Provider,
  ) {}

  @Resumable('checkout')
  async run({ item }: { item: string }) {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx, item));
    const charge = await this.phase.foreign('charge_created', {
      inDoubt: 'repeat',
      keyValidFor: '24h',
      call: ({ idempotencyKey }) => this.provider.charge({ amount: 1 }, idempotencyKey),
      record: async (tx, { id }) => {
        await tx.query('UPDATE orders SET charge = $1 WHERE id = $2', [id, order.id]);
        return { id };
      },
    });
    return { order: order.id, charge: charge.id };
  }
}

/** Mails once per message. */
@Injectable()
export class Mailer {
  constructor(private readonly provider: Provider) {}

  @OutboxHandler('orders.created')
  async send({ id }: DeliveredMessage): Promise<void> {
    await this.provider.charge({ mail: true }, id);
  }

  /** Wrong: see wrong-calls.ts. */
  @OutboxHandler('orders.shipped')
  async sendWithoutKey(): Promise<void> {
    await this.provider.charge({ mail: true });
  }

  @OutboxHandler('orders.lost')
  async fail(): Promise<void> {
    throw new Error('There is no mail server.');
  }
}

let mutex: Promise<unknown> = Promise.resolve();

/** Handlers that survive whatever happens to them. */
@Controller('right')
export class RightHandlers {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly checkout: Checkout,
    private readonly outbox: Outbox,
    private readonly dataSource: DataSource,
  ) {}

  @Post('checkout')
  @Idempotent({ phased: true })
  checkOut(@Body() body: { item: string }) {
    return this.checkout.run(body);
  }

  @Post('background')
  @Idempotent({ run: 'background' })
  background(@Body() body: { item: string }) {
    return this.checkout.run(body);
  }

  @Post('growing-list')
  @Idempotent({ phased: true })
  async growingList() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    const orders = await this.dataSource.query(
      'SELECT id, item, charge FROM orders WHERE id <= $1 ORDER BY id',
      [order.id],
    );
    return { orders };
  }

  @Post('null-then-value')
  @Idempotent({ phased: true })
  async nullThenValue() {
    return this.phase.local('order_created', async (tx) => {
      const [last] = await tx.query(`SELECT max(id) AS id FROM orders WHERE item = 'once'`);
      return { ...(await insertOrder(tx, 'once')), last: (last as { id: number | null }).id };
    });
  }

  @Post('upsert')
  @Idempotent({ phased: true })
  async upsert() {
    return this.phase.local('customer_seen', async (tx) => {
      const [row] = await tx.query(
        `INSERT INTO customers (name, orders, seen_at) VALUES ('ada', 1, now())
         ON CONFLICT (name) DO UPDATE SET orders = customers.orders + 1, seen_at = now()
         RETURNING orders`,
      );
      return row as object;
    });
  }

  @Post('unique')
  @Idempotent({ phased: true })
  async unique(@Body() { name }: { name: string }) {
    return this.phase.local('customer_created', async (tx) => {
      await tx.query('INSERT INTO customers (name) VALUES ($1)', [name]);
      return { name };
    });
  }

  @Post('message')
  @Idempotent({ phased: true })
  async message() {
    return this.phase.local('order_created', async (tx) => {
      const order = await insertOrder(tx);
      await this.outbox.add(tx, 'orders.created', { order: order.id });
      return order;
    });
  }

  @Post('unprotected')
  @Idempotent({ phased: true })
  async unprotected() {
    await this.phase.unprotected(() =>
      this.dataSource.query(`INSERT INTO logs (text) VALUES ('seen')`),
    );
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('mutex')
  @Idempotent({ phased: true })
  async mutex() {
    const before = mutex;
    let free!: () => void;
    mutex = new Promise<void>((resolve) => (free = resolve));
    await before;
    try {
      return await this.phase.local('order_created', (tx) => insertOrder(tx));
    } finally {
      free();
    }
  }

  @Post('declared-time')
  @Idempotent({ phased: true })
  async declaredTime() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    return { ...order, meta: { at: randomUUID() } };
  }
}

const at = (name: string) => `/right/${name}`;

export const right: HandlerCase[] = [
  {
    name: 'a checkout',
    path: at('checkout'),
    request: { body: { item: 'rocket' } },
    options: { unknown: 'fail' },
  },
  {
    name: "run: 'background'",
    path: at('background'),
    request: { body: { item: 'rocket' } },
    options: { unknown: 'fail' },
  },
  { name: 'a list that grows', path: at('growing-list') },
  { name: 'null first, then a value', path: at('null-then-value') },
  { name: 'a row that is there after the first run', path: at('upsert') },
  { name: 'a message, delivered twice', path: at('message') },
  { name: 'a write that is declared harmless', path: at('unprotected') },
  { name: 'a mutex held by the dead attempt', path: at('mutex'), options: { timeout: 400 } },
  {
    name: 'a value declared to differ',
    path: at('declared-time'),
    options: { ignore: { json: ['meta.at'] } },
  },
];
