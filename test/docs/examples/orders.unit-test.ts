import type { CallHandler } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { IdempotencyInterceptor } from 'nestjs-atomic-idempotency';
import { OrdersController } from './orders.controller.js';

export async function ordersController(): Promise<OrdersController> {
  const testing = await Test.createTestingModule({ controllers: [OrdersController] })
    .overrideInterceptor(IdempotencyInterceptor)
    .useValue({ intercept: (_context: unknown, next: CallHandler) => next.handle() })
    .compile();
  return testing.get(OrdersController);
}
