import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AtomicPhase,
  IdempotencyConfigurationError,
  IdempotencyModule,
  Idempotent,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { onEachPlatform } from '../support/platforms.js';
import { bootFailure } from './boot-failure.js';

let executions = 0;

@Injectable()
class OrdersService {
  constructor(private readonly phases: AtomicPhase) {}

  create(): Promise<{ execution: number }> {
    return this.phases.local('ordered', async () => ({ execution: ++executions }));
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @Idempotent()
  create() {
    return this.orders.create();
  }
}

const idempotency = IdempotencyModule.forRoot({ scope: 'global', isGlobal: false });

@Module({
  imports: [idempotency],
  controllers: [OrdersController],
  providers: [OrdersService],
})
class OrdersModule {}

@Controller('refunds')
class RefundsController {
  @Post()
  @Idempotent()
  create() {
    return {};
  }
}

@Module({ controllers: [RefundsController] })
class RefundsModule {}

describe('The module with isGlobal: false', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  onEachPlatform((platform) => {
    it('serves a module that imports it', async () => {
      executions = 0;
      const app = await platform.start({
        imports: [
          TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
          OrdersModule,
        ],
      });
      const first = await send(`${app.url}/orders`, { key: platform.name });
      const retry = await send(`${app.url}/orders`, { key: platform.name });

      expect(first.json()).toEqual({ execution: 1 });
      expect(retry.body).toEqual(first.body);
      await app.close();
    });
  });

  it('stops the boot of a module that does not import it, and the error names both', async () => {
    const error = await bootFailure({ database, imports: [OrdersModule, RefundsModule] });

    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('@Idempotent() is used in RefundsModule,');
    expect(error.message).toContain('With isGlobal: false, import it into RefundsModule');
  });
});
