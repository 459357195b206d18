import { Test, TestingModule } from '@nestjs/testing';
import { provideIdempotencyForTests } from 'nestjs-atomic-idempotency/testing';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

describe('OrdersController', () => {
  let ordersController: OrdersController;

  beforeEach(async () => {
    const app: TestingModule = await Test.createTestingModule({
      controllers: [OrdersController],
      providers: [
        {
          provide: OrdersService,
          useValue: { create: (article: string) => ({ number: 1, article }) },
        },
        ...provideIdempotencyForTests(),
      ],
    }).compile();

    ordersController = app.get<OrdersController>(OrdersController);
  });

  it('should create an order', async () => {
    expect(await ordersController.create({ article: 'rocket' })).toEqual({
      number: 1,
      article: 'rocket',
    });
  });
});
