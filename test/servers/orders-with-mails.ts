// A process that works for itself: it sends orders to its own server, twice each
// and at the same time, and delivers the message of each. It tells how much of
// the heap is in use after that.
import { Agent, request } from 'node:http';
import { Body, Controller, Injectable, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AtomicPhase,
  Idempotent,
  IdempotencyModule,
  Maintenance,
  Outbox,
  OutboxHandler,
  type DeliveredMessage,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { serve } from '../support/child-server.js';

const { DATABASE = '' } = process.env;

/** So many orders are on their way at once. */
const LANES = 50;

const tally = { orders: 0, charges: 0, mails: 0 };

@Controller('orders')
class OrdersController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Post()
  @Idempotent({ onInProgress: 'wait', waitFor: '55s' })
  async create(@Body() order: { item: string }) {
    tally.orders += 1;
    const mail = await this.phase.local('order_created', (tx) =>
      this.outbox.add(tx, 'mails', order),
    );
    const charge = await this.phase.foreign('order_charged', {
      request: order,
      // A caller that listens and never stops listening: that must not matter either.
      call: async ({ signal }) => {
        signal.addEventListener('abort', () => order);
        return { charge: ++tally.charges };
      },
    });
    return { mail, charge };
  }
}

@Injectable()
class Mails {
  @OutboxHandler('mails')
  async send({ signal }: DeliveredMessage) {
    tally.mails += 1;
    signal.addEventListener('abort', () => signal);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    IdempotencyModule.forRoot({
      scope: 'global',
      // A slow machine is no reason for a 503.
      storeTimeout: '50s',
      lease: '2m',
      outbox: { lease: '2m' },
      // So small that it is full long before anything is measured.
      replayCache: { maxBytes: 128 * 1024 },
      maintenance: {
        sweeper: false,
        reaper: false,
        completer: false,
        reconciler: false,
        outbox: { interval: '1h', batch: 500 },
      },
    }),
  ],
  controllers: [OrdersController],
  providers: [Mails],
})
class OrdersModule {}

const agent = new Agent({ keepAlive: true, maxSockets: 2 * LANES });

function post(url: string, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const body = Buffer.from(JSON.stringify({ item: key }));
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'idempotency-key': key,
    };
    const outgoing = request(url, { method: 'POST', agent, headers }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on('error', reject).end(body);
  });
}

/** Sends the orders from one number up to another. */
async function sendOrders({
  url,
  from,
  to,
}: {
  url: string;
  from: number;
  to: number;
}): Promise<void> {
  let next = from;
  async function lane() {
    while (next < to) {
      const key = `order-${next++}`;
      const statuses = await Promise.all([post(`${url}/orders`, key), post(`${url}/orders`, key)]);
      if (statuses.some((status) => status !== 201))
        throw new Error(`${key} got ${statuses.join()}.`);
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane));
}

await serve(OrdersModule, {
  commands: {
    order: sendOrders,
    /** Messages by themselves: much faster than with an order around each. */
    addMails: (count: number, app) =>
      app.get(DataSource).query(
        `INSERT INTO idempotency_outbox (id, topic, payload)
         SELECT gen_random_uuid(), 'mails', '{"item":"a mail"}' FROM generate_series(1, $1)`,
        [count],
      ),
    /** Until no message is left. */
    deliver: async (_, app) => {
      const maintenance = app.get(Maintenance, { strict: false });
      const left = `SELECT 1 FROM idempotency_outbox LIMIT 1`;
      do await maintenance.runOnce('outbox');
      while ((await app.get(DataSource).query<unknown[]>(left)).length > 0);
    },
    tally: () => tally,
    /** In bytes, without garbage. What waits to be finalised takes more than one round. */
    heap: async () => {
      for (let round = 0; round < 5; round++) {
        global.gc!();
        await new Promise((resolve) => setImmediate(resolve));
      }
      return process.memoryUsage().heapUsed;
    },
  },
});
