import { Module } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  IdempotencyConfigurationError,
  idempotencyEntities,
  IdempotencyModule,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { bootFailure } from './boot-failure.js';

describe('Two modules', () => {
  const routes = new PolicyRoutes({ orders: {} });
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each([
    ['side by side', () => IdempotencyModule.forRoot({ scope: 'global' })],
    [
      'with other options and in another module',
      () => {
        @Module({ imports: [IdempotencyModule.forRoot({ scope: 'global', isGlobal: false })] })
        class OrdersModule {}
        return OrdersModule;
      },
    ],
  ])('on one data source stop the boot: %s', async (_, second) => {
    const error = await bootFailure({
      database,
      imports: [IdempotencyModule.forRoot({ scope: 'global' }), second()],
    });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('dataSource');
    expect(error.message).toContain('Import IdempotencyModule.forRoot() once');
  });

  onEachPlatform((platform) => {
    it('may be in two applications of one process, and closing one does not affect the other', async () => {
      const options = { database, controllers: [routes.controller] };
      routes.answers((execution) => ({ execution }));
      const one = await startIdempotentApp(platform, options);
      const two = await startIdempotentApp(platform, options);

      const key = `${platform.name}-shared`;
      const first = await send(`${one.url}/orders`, { key });
      const retry = await send(`${two.url}/orders`, { key });
      expect(retry.body).toEqual(first.body);
      expect(routes.executions).toBe(1);

      await one.close();
      const later = await send(`${two.url}/orders`, { key: `${platform.name}-later` });
      expect(later.json()).toEqual({ execution: 2 });
      await two.close();
    });

    it('may use one data source one after the other', async () => {
      const dataSource = new DataSource({
        ...database.dataSourceOptions,
        entities: [...idempotencyEntities],
      });
      for (const run of ['first', 'second']) {
        const app = await platform.start({
          imports: [
            TypeOrmModule.forRootAsync({
              useFactory: () => database.dataSourceOptions,
              dataSourceFactory: () => dataSource.initialize(),
            }),
            IdempotencyModule.forRoot({ scope: 'global' }),
          ],
          controllers: [routes.controller],
        });
        const answer = await send(`${app.url}/orders`, { key: `${platform.name}-same-${run}` });
        expect(answer.status).toBe(201);
        await app.close();
      }
    });

    it('may use one database one after the other', async () => {
      for (const run of ['first', 'second']) {
        const app = await startIdempotentApp(platform, {
          database,
          controllers: [routes.controller],
        });
        const answer = await send(`${app.url}/orders`, { key: `${platform.name}-${run}` });
        expect(answer.status).toBe(201);
        await app.close();
      }
    });
  });
});
