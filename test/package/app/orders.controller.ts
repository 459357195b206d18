import { Body, Controller, Get, Post } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';

interface Order {
  number: number;
  article: string;
}

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly phases: AtomicPhase,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  @Post()
  @Idempotent()
  create(@Body() order: { article: string }): Promise<Order> {
    return this.phases.local('order_created', async (tx) => {
      const [created] = await tx.query<Order[]>(
        'INSERT INTO orders (article) VALUES ($1) RETURNING number, article',
        [order.article],
      );
      return created!;
    });
  }

  @Get()
  all(): Promise<Order[]> {
    return this.dataSource.query<Order[]>('SELECT number, article FROM orders');
  }
}
