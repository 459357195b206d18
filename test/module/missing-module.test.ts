import { Controller, Module, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  IdempotencyConfigurationError,
  IdempotencyInterceptor,
  Idempotent,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { createAdapter, listen } from '../support/listen.js';
import { onEachPlatform } from '../support/platforms.js';
import { bootFailure } from './boot-failure.js';

@Controller('orders')
class OrdersController {
  @Post()
  @Idempotent()
  create() {
    return { ordered: true };
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule {}

describe('A missing IdempotencyModule', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('stops the boot of an application with @Idempotent(), and the error says what to import', async () => {
    const error = await bootFailure({ database, imports: [OrdersModule] });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('@Idempotent() is used in OrdersModule,');
    expect(error.message).toContain('Import IdempotencyModule.forRoot({ scope: … })');
    expect(error.message).toContain('...provideIdempotencyForTests()');
  });

  it('is not confused with an error in the options', async () => {
    for (let boot = 1; boot <= 5; boot++) {
      const error = await bootFailure({
        database,
        idempotency: { scope: undefined },
        controllers: [OrdersController],
      });
      expect(error.message).toContain('scope is missing');
    }
  });

  onEachPlatform((platform) => {
    it('can be replaced by another interceptor in the test of a controller', async () => {
      const testing = await Test.createTestingModule({ controllers: [OrdersController] })
        .overrideInterceptor(IdempotencyInterceptor)
        .useValue({ intercept: (_: unknown, next: { handle(): unknown }) => next.handle() })
        .compile();
      const app = testing.createNestApplication(await createAdapter(platform.name));
      const url = await listen(app, platform.name);
      expect((await send(`${url}/orders`)).json()).toEqual({ ordered: true });
      await app.close();
    });
  });
});
