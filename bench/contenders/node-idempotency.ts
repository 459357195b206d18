/** @node-idempotency/nestjs on its Nest 10, with Redis if there is an address, else in memory. */
import { Body, Controller, Module, Post } from '@nestjs/common';
import { Idempotent, NodeIdempotencyModule } from '@node-idempotency/nestjs';
import { StorageAdapterEnum } from '@node-idempotency/shared';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';

const url = process.env.BENCH_REDIS_URL;

@Controller('payments')
class PaymentsController {
  @Post()
  @Idempotent()
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({
  imports: [
    NodeIdempotencyModule.forRootAsync({
      storage: url
        ? { adapter: StorageAdapterEnum.redis, options: { url } }
        : { adapter: StorageAdapterEnum.memory },
      // Somebody's Redis is not to remember the bench for a day.
      cacheTTLMS: 600_000,
    }),
  ],
  controllers: [PaymentsController],
})
class AppModule {}

await serve(AppModule);
