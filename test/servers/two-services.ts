// Two services with this library: a shop whose orders reserve something in a
// warehouse. ROLE says which of them this process is.
import { Body, Controller, HttpException, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AtomicPhase, Idempotent, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { createIdempotentFetch, resultOf } from 'nestjs-atomic-idempotency/client';
import { observeFaultPoints } from '../../lib/faults/fault-points.js';
import { emit, serve } from '../support/child-server.js';

const { DATABASE = '', ROLE = '', WAREHOUSE = '' } = process.env;

interface Order {
  item: string;
}

/** Patient enough for a warehouse that has to be started again. */
const warehouse = createIdempotentFetch({ retries: 30, maxDelay: 4_000 });

@Controller()
class ShopController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('orders')
  @Idempotent({ phased: true })
  async create(@Body() { item }: Order) {
    const order = await this.phase.local('order_created', async (tx) => {
      const [row] = await tx.query<{ id: string }[]>(
        'INSERT INTO things (item) VALUES ($1) RETURNING id',
        [item],
      );
      return row!;
    });
    const reservation = await this.phase.foreign('reserved_item', {
      // No key is handed on here: the client finds it.
      call: async () => {
        const response = await warehouse(`${WAREHOUSE}/reservations`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ item }),
        });
        return resultOf<{ id: string }>(response);
      },
      inDoubt: 'repeat',
    });
    return { order: order.id, reservation: reservation.id };
  }
}

@Controller()
class WarehouseController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('reservations')
  @Idempotent({ phased: true })
  reserve(@Body() { item }: Order) {
    if (item.startsWith('no ')) throw new HttpException({ message: 'sold out' }, 410);
    return this.phase.local('reservation_made', async (tx) => {
      const [row] = await tx.query<{ id: string }[]>(
        'INSERT INTO things (item) VALUES ($1) RETURNING id',
        [item],
      );
      return row!;
    });
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
  ],
  controllers: [ROLE === 'shop' ? ShopController : WarehouseController],
})
class ServiceModule {}

const passed: string[] = [];
let stopAt: string | undefined;

observeFaultPoints(({ name }) => {
  if (name !== stopAt) return void passed.push(name);
  stopAt = undefined;
  emit('stopped', name);
  // For good: whoever asked for it is about to kill this process.
  return new Promise(() => undefined);
});

await serve(ServiceModule, {
  commands: {
    /** The next request that comes to this fault point stays there. */
    stopAt: (point: string) => void (stopAt = point),
    /** The fault points that requests have passed. */
    passed: () => passed.splice(0),
  },
});
