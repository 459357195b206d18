import { Body, Controller, Get, Post } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @Idempotent()
  create(@Body() order: { article: string }) {
    return this.orders.create(order.article);
  }

  @Get()
  all() {
    return this.orders.all();
  }
}
