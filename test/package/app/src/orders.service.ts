import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';

export interface Order {
  number: number;
  article: string;
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly phase: AtomicPhase,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  create(article: string): Promise<Order> {
    return this.phase.local('order_created', async (tx) => {
      const [created] = await tx.query<Order[]>(
        'INSERT INTO orders (article) VALUES ($1) RETURNING number, article',
        [article],
      );
      return created!;
    });
  }

  all(): Promise<Order[]> {
    return this.dataSource.query<Order[]>('SELECT number, article FROM orders');
  }
}
