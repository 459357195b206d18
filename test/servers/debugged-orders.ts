// Orders of which one goes well, one fails midway once, and one loses its lease.
// The scope comes from a header, so that the test can look for it in what is logged.
import { Body, Controller, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AtomicPhase, Idempotent, IdempotencyModule, Maintenance } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { serve } from '../support/child-server.js';

let failures = 0;

@Controller('orders')
class OrdersController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly dataSource: DataSource,
  ) {}

  @Post()
  @Idempotent({ phased: true })
  async create(@Body() order: { item: string }) {
    await this.phase.local('order_created', async () => ({ item: order.item }));
    return this.phase.foreign('charge_created', {
      request: { item: order.item },
      call: async () => ({ charged: order.item }),
    });
  }

  @Post('failing-once')
  @Idempotent({ phased: true })
  async failOnce(@Body() order: { item: string }) {
    await this.phase.local('order_created', async () => ({ item: order.item }));
    if (failures++ === 0) throw new Error('A bug that is gone on the retry.');
    return order;
  }

  @Post('losing-the-lease')
  @Idempotent()
  async loseTheLease(@Body() order: { item: string }) {
    // As if another attempt had taken the key over.
    await this.phase.unprotected(() =>
      this.dataSource.query(
        `UPDATE idempotency_keys SET owner = gen_random_uuid() WHERE id = ${this.phase.current!.id}`,
      ),
    );
    return this.phase.foreign('charge_created', { call: async () => order });
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE ?? '',
      autoLoadEntities: true,
    }),
    IdempotencyModule.forRoot({
      scope: ({ headers }) => headers['x-customer'],
      maintenance: false,
    }),
  ],
  controllers: [OrdersController],
})
class OrdersModule {}

await serve(OrdersModule, {
  commands: { reap: (_argument, app) => app.get(Maintenance).runOnce('reaper') },
});
