import { Test, TestingModule } from '@nestjs/testing';
import { getDataSourceToken } from '@nestjs/typeorm';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { OrdersService } from './orders.service.js';

describe('OrdersService', () => {
  let ordersService: OrdersService;

  beforeEach(async () => {
    const tx = { query: async (_sql: string, [article]: string[]) => [{ number: 1, article }] };
    const app: TestingModule = await Test.createTestingModule({
      providers: [
        OrdersService,
        {
          provide: AtomicPhase,
          useValue: { local: (_name: string, work: (manager: unknown) => unknown) => work(tx) },
        },
        { provide: getDataSourceToken(), useValue: {} },
      ],
    }).compile();

    ordersService = app.get<OrdersService>(OrdersService);
  });

  it('should create an order', async () => {
    expect(await ordersService.create('rocket')).toEqual({ number: 1, article: 'rocket' });
  });
});
