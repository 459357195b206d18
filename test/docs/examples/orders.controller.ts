import { Body, Controller, Post, UseGuards } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { AuthGuard } from './auth.guard.js';

@Controller('orders')
@UseGuards(AuthGuard)
export class OrdersController {
  @Post()
  @Idempotent()
  create(@Body() order: { item: string }) {
    return { id: crypto.randomUUID(), item: order.item };
  }
}
