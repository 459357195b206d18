// A plain idempotent route. The test starts it with hooks that note the calls of
// lib's functions (test/docs/walk/trace-calls.mjs).
import { Body, Controller, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Idempotent, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { serve } from '../support/child-server.js';

@Controller('orders')
class OrdersController {
  @Post()
  @Idempotent()
  create(@Body() order: { item: string }) {
    return order;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE ?? '',
      autoLoadEntities: true,
    }),
    IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
  ],
  controllers: [OrdersController],
})
class OrdersModule {}

const notes = globalThis as { calls?: string[] };

await serve(OrdersModule, {
  commands: {
    /** Calls are noted from now on. */
    trace: () => void (notes.calls = []),
    /** The calls so far; from now on they are not noted. */
    traced: () => {
      const { calls } = notes;
      delete notes.calls;
      return calls;
    },
  },
});
