import { randomUUID } from 'node:crypto';
import {
  Body,
  ConflictException,
  Controller,
  HttpException,
  Injectable,
  Post,
  Req,
} from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  Outbox,
  OutboxHandler,
  Reconciler,
  Resumable,
  type DeliveredMessage,
  type DoubtfulEffect,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';
import { Provider } from './provider.js';

const REPEAT = { inDoubt: 'repeat', keyValidFor: '24h' } as const;

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
}

/** Asks the provider what became of a transfer. */
@Injectable()
export class Transfers {
  constructor(private readonly provider: Provider) {}

  @Reconciler('transfer_sent')
  find({ idempotencyKey }: DoubtfulEffect): Reconciliation {
    const result = this.provider.find(idempotencyKey);
    return result ? { outcome: 'executed', result } : { outcome: 'not_executed' };
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
    private readonly provider: Provider,
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

  @Post('seat')
  @Idempotent({ phased: true })
  async seat(@Body() { seat }: { seat: number }) {
    return this.phase.local('seat_taken', async (tx) => {
      const [rows] = (await tx.query(
        'UPDATE seats SET taken = true WHERE seat = $1 AND NOT taken RETURNING seat',
        [seat],
      )) as [{ seat: number }[]];
      if (!rows[0]) throw new ConflictException('This seat is taken.');
      return rows[0];
    });
  }

  @Post('declined')
  @Idempotent({ phased: true })
  async declined() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: async ({ idempotencyKey }) => {
        const { status } = await this.provider.send('/declines', { order }, idempotencyKey);
        // Its own 5xx is no refusal.
        if (status === 402) throw new HttpException('The card was declined.', 402);
        throw new Error(`The provider answered ${status}.`);
      },
    });
  }

  @Post('reconciled')
  @Idempotent({ phased: true })
  async reconciled() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    const transfer = await this.phase.foreign('transfer_sent', {
      inDoubt: 'reconcile',
      request: { order: order.id },
      call: ({ idempotencyKey }) => this.provider.charge({ order: order.id }, idempotencyKey),
    });
    return { order: order.id, transfer: transfer.id };
  }

  @Post('loop')
  @Idempotent({ phased: true })
  async loop(@Body() { items }: { items: string[] }) {
    const ids: number[] = [];
    for (const [index, item] of items.entries()) {
      const { id } = await this.phase.local(`item_${index}_ordered`, (tx) => insertOrder(tx, item));
      ids.push(id);
    }
    return { ids };
  }

  @Post('keep-alive')
  @Idempotent({ phased: true })
  async keepAlive() {
    const first = await this.phase.foreign('charge_created', {
      ...REPEAT,
      call: ({ idempotencyKey }) => this.provider.chargeKeptAlive({ amount: 1 }, idempotencyKey),
    });
    const second = await this.phase.foreign('fee_created', {
      ...REPEAT,
      call: ({ idempotencyKey }) => this.provider.chargeKeptAlive({ amount: 2 }, idempotencyKey),
    });
    return { first: first.id, second: second.id };
  }

  @Post('token')
  @Idempotent({ phased: true })
  async token() {
    const token = await this.phase.unprotected(async () => {
      const answer = await fetch(`${this.provider.url}/token`);
      return ((await answer.json()) as { id: string }).id;
    });
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: ({ idempotencyKey }) =>
        this.provider.charge({ amount: 1 }, idempotencyKey, { authorization: `Bearer ${token}` }),
    });
  }

  @Post('nested')
  @Idempotent({ phased: true })
  async nested(@Req() request: { headers: Record<string, string> }) {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx, 'outer'));
    const inner = await this.phase.foreign('inner_placed', {
      ...REPEAT,
      call: async () => {
        const answer = await fetch(`http://${request.headers.host}/right/inner`, {
          method: 'POST',
          headers: { 'idempotency-key': request.headers['idempotency-key']! },
        });
        if (!answer.ok) throw new Error(`It was answered with ${answer.status}.`);
        return (await answer.json()) as { id: number };
      },
    });
    return { outer: order.id, inner: inner.id };
  }

  /** Its keys are its own, so the client's key can be passed on. */
  @Post('inner')
  @Idempotent({ phased: true, keyspace: 'endpoint' })
  async inner() {
    return this.phase.local('order_created', (tx) => insertOrder(tx, 'inner'));
  }

  @Post('own-retries')
  @Idempotent({ phased: true })
  async ownRetries() {
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: async ({ idempotencyKey }) => {
        const charge = () => this.provider.charge({ amount: 1 }, idempotencyKey);
        return charge().catch(charge);
      },
    });
  }

  @Post('changed-each-time')
  @Idempotent({ phased: true })
  async changedEachTime() {
    const order = await this.phase.local('order_created', async (tx) => ({
      ...(await insertOrder(tx)),
      items: ['rocket'],
    }));
    // Each attempt gets the result as it is on record, and changes it in the same way.
    order.items.push('gift');
    await this.phase.foreign('parcel_sent', {
      ...REPEAT,
      call: ({ idempotencyKey }) => this.provider.charge({ items: order.items }, idempotencyKey),
    });
    return order;
  }

  @Post('in-doubt')
  @Idempotent({ phased: true })
  async inDoubt() {
    return this.phase.foreign('letter_sent', {
      inDoubt: 'stop',
      call: () => this.provider.charge({ letter: true }),
    });
  }
}

const at = (name: string) => `/right/${name}`;

export const right: HandlerCase[] = [
  {
    name: 'a checkout',
    path: at('checkout'),
    body: { item: 'rocket' },
    options: { unknown: 'fail' },
  },
  {
    name: "run: 'background'",
    path: at('background'),
    body: { item: 'rocket' },
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
  {
    name: 'a unique column, with a fresh body for each key',
    path: at('unique'),
    body: (n) => ({ name: `customer ${n}` }),
  },
  {
    name: 'limited stock, with a fresh body for each key',
    path: at('seat'),
    body: (n) => ({ seat: n }),
  },
  { name: 'a refusal by design', path: at('declined'), options: { expectStatus: 402 } },
  {
    name: 'a doubt that a reconciler clears up',
    path: at('reconciled'),
    options: { unknown: 'fail' },
  },
  {
    name: 'phases in a loop, with the number of the item',
    path: at('loop'),
    body: { items: ['rocket', 'fuel', 'seat'] },
    options: { unknown: 'fail' },
  },
  {
    name: 'calls on a connection that is kept alive',
    path: at('keep-alive'),
    options: { unknown: 'fail' },
  },
  { name: 'a token fetched outside phases', path: at('token'), options: { unknown: 'fail' } },
  {
    name: 'a call to the same application under the same key',
    path: at('nested'),
    options: { unknown: 'fail' },
  },
  {
    name: 'a client that tries again under the effect key',
    path: at('own-retries'),
    options: { unknown: 'fail' },
  },
  {
    name: 'a result that each attempt changes in the same way',
    path: at('changed-each-time'),
    options: { unknown: 'fail' },
  },
  { name: 'a call that must not be repeated', path: at('in-doubt') },
];
