import { Inject, Injectable, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  IdempotencyModule,
  type IdempotencyModuleOptions,
  type IdempotencyOptionsFactory,
} from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const HEADER = Symbol('header');

@Module({ providers: [{ provide: HEADER, useValue: 'X-Request-Key' }], exports: [HEADER] })
class SettingsModule {}

@Injectable()
class OptionsFactory implements IdempotencyOptionsFactory {
  constructor(@Inject(HEADER) private readonly header: string) {}

  async createIdempotencyOptions(): Promise<IdempotencyModuleOptions> {
    return { scope: 'global', header: this.header };
  }
}

@Module({ imports: [SettingsModule], providers: [OptionsFactory], exports: [OptionsFactory] })
class FactoryModule {}

const waysToConfigure: [string, () => DynamicModule][] = [
  [
    'useFactory with inject and imports',
    () =>
      IdempotencyModule.forRootAsync({
        imports: [SettingsModule],
        inject: [HEADER],
        useFactory: async (header: string) => ({ scope: 'global', header }),
      }),
  ],
  [
    'useClass',
    () => IdempotencyModule.forRootAsync({ imports: [SettingsModule], useClass: OptionsFactory }),
  ],
  [
    'useExisting',
    () => IdempotencyModule.forRootAsync({ imports: [FactoryModule], useExisting: OptionsFactory }),
  ],
];

forEachPlatform('Asynchronous options', (platform) => {
  describe('forRootAsync', () => {
    const routes = new PolicyRoutes({ orders: {} });
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database.drop());

    it.each(waysToConfigure)('takes its options from %s', async (way, configure) => {
      const app = await platform.start({
        imports: [
          TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
          configure(),
        ],
        controllers: [routes.controller],
      });
      routes.answers((execution) => ({ execution }));
      const request = { headers: { 'x-request-key': way.replaceAll(' ', '-') } };

      const first = await send(`${app.url}/orders`, request);
      const retry = await send(`${app.url}/orders`, request);

      expect(first.json()).toEqual({ execution: 1 });
      expect(retry.json()).toEqual({ execution: 1 });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect((await send(`${app.url}/orders`, { key: 'other-header' })).status).toBe(400);
      await app.close();
    });
  });
});
