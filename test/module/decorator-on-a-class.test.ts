import { Controller, Delete, Get, Patch, Post, Put } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

@Idempotent()
@Controller('orders')
class OrdersController {
  @Post()
  create() {
    return { execution: ++executions };
  }

  @Patch()
  change() {
    return { execution: ++executions };
  }

  @Get()
  read() {
    return { execution: ++executions };
  }

  @Put()
  replace() {
    return { execution: ++executions };
  }

  @Delete()
  remove() {
    return { execution: ++executions };
  }

  /** A plain method that happens to share the class. */
  audit() {
    return executions;
  }
}

forEachPlatform('Decorated classes', (platform) => {
  describe('@Idempotent() on a class', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [OrdersController] });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    it.each(['POST', 'PATCH'])('covers its %s routes', async (method) => {
      const refused = await send(`${app.url}/orders`, { method });
      expect(refused.status).toBe(400);
      expect(refused.json()).toMatchObject({ code: 'key_missing' });
      expect(executions).toBe(0);

      const first = await send(`${app.url}/orders`, { method, key: method });
      const retry = await send(`${app.url}/orders`, { method, key: method });
      expect(first.json()).toEqual({ execution: 1 });
      expect(retry.body).toEqual(first.body);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
    });

    it.each(['GET', 'PUT', 'DELETE'])('does not affect its %s routes', async (method) => {
      const withoutKey = await send(`${app.url}/orders`, { method });
      expect(withoutKey.json()).toEqual({ execution: 1 });

      const withKey = await send(`${app.url}/orders`, { method, key: method });
      expect(withKey.json()).toEqual({ execution: 2 });
      expect(withKey.headers.get('idempotency-key-expires')).toBeNull();
      expect(
        await app.database.query('SELECT 1 FROM idempotency_keys WHERE key = $1', [method]),
      ).toEqual([]);
    });
  });
});
