import { TypeOrmModule } from '@nestjs/typeorm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { bootFailure } from './boot-failure.js';

describe('A named data source', () => {
  let main: TestDatabase;
  let ledger: TestDatabase;
  beforeAll(async () => {
    main = await createTestDatabase({ migrated: false });
    ledger = await createTestDatabase();
  });
  afterAll(() => Promise.all([main.drop(), ledger.drop()]));

  onEachPlatform((platform) => {
    it.each([
      ['forRoot', () => IdempotencyModule.forRoot({ scope: 'global', dataSource: 'ledger' })],
      [
        'forRootAsync',
        () =>
          IdempotencyModule.forRootAsync({
            dataSource: 'ledger',
            useFactory: () => ({ scope: 'global' }),
          }),
      ],
    ])('holds the keys, and the default one is not touched (%s)', async (way, configure) => {
      const key = `${platform.name}-${way}`;
      const routes = new PolicyRoutes({ orders: {} });
      const app = await platform.start({
        imports: [
          TypeOrmModule.forRoot({ ...main.dataSourceOptions, autoLoadEntities: true }),
          TypeOrmModule.forRoot({
            ...ledger.dataSourceOptions,
            name: 'ledger',
            autoLoadEntities: true,
          }),
          configure(),
        ],
        controllers: [routes.controller],
      });
      await send(`${app.url}/orders`, { key });
      const retry = await send(`${app.url}/orders`, { key });

      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(await keyRow(ledger, key)).toMatchObject({ status: 'completed' });
      expect(routes.executions).toBe(1);
      await app.close();
    });
  });

  it('that does not exist is named by the boot error', async () => {
    const error = await bootFailure({ database: ledger, idempotency: { dataSource: 'ledgers' } });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain("no data source 'ledgers'");
    expect(error.message).toContain("There is 'default'");
  });

  it('is required if there is no default one', async () => {
    const error = await bootFailure({ database: ledger, dataSourceName: 'ledger' });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('no default data source');
    expect(error.message).toContain("forRoot({ …, dataSource: 'ledger' })");
  });

  it('that cannot be reached is reported with its own error', async () => {
    const error = await bootFailure({
      database: ledger,
      dataSource: { url: 'postgres://127.0.0.1:1/none' },
    });
    expect(error).not.toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('ECONNREFUSED');
  });
});
