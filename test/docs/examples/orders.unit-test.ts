import { Test } from '@nestjs/testing';
import { provideIdempotencyForTests } from 'nestjs-atomic-idempotency/testing';
import { OrdersController } from './orders.controller.js';

export async function ordersController(): Promise<OrdersController> {
  const testing = await Test.createTestingModule({
    controllers: [OrdersController],
    providers: [...provideIdempotencyForTests()],
  }).compile();
  return testing.get(OrdersController);
}
