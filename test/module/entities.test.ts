import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { idempotencyEntities, IdempotencyKey, IdempotencyModule } from 'nestjs-atomic-idempotency';
import type { Repository } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { bootFailure } from './boot-failure.js';

describe('The entities', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  onEachPlatform((platform) => {
    it('are loaded automatically and read what the library wrote', async () => {
      const routes = new PolicyRoutes({ orders: {} });
      routes.answers(() => ({ ordered: true }));
      const server = await startIdempotentApp(platform, {
        database,
        controllers: [routes.controller],
      });
      await send(`${server.url}/orders`, { key: platform.name });

      const keys = server.app.get<Repository<IdempotencyKey>>(getRepositoryToken(IdempotencyKey), {
        strict: false,
      });
      const key = await keys.findOneByOrFail({ scope: '', key: platform.name });
      expect(key.status).toBe('completed');
      expect(key.responseStatus).toBe(201);
      expect(key.responseBody?.toString()).toBe('{"ordered":true}');
      expect(key.responseHeaders).toMatchObject({
        'content-type': expect.stringContaining('application/json'),
      });
      await server.close();
    });

    it('may be listed by hand instead', async () => {
      const routes = new PolicyRoutes({ orders: {} });
      const server = await platform.start({
        imports: [
          TypeOrmModule.forRoot({
            ...database.dataSourceOptions,
            entities: [...idempotencyEntities],
          }),
          IdempotencyModule.forRoot({ scope: 'global' }),
        ],
        controllers: [routes.controller],
      });
      expect((await send(`${server.url}/orders`, { key: 'by-hand' })).status).toBe(201);
      await server.close();
    });
  });

  it('stop the boot if they are not loaded, and the error says what to do', async () => {
    const { message } = await bootFailure({ database, dataSource: { autoLoadEntities: false } });
    expect(message).toContain('entities');
    expect(message).toContain('autoLoadEntities: true');
    expect(message).toContain('...idempotencyEntities');
  });
});
