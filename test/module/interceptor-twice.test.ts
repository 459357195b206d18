import { Controller, Post, UseInterceptors, type INestApplication } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { IdempotencyInterceptor, Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentAppOptions } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

@Controller()
@Idempotent()
@UseInterceptors(IdempotencyInterceptor)
class OrdersController {
  @Post('orders')
  @Idempotent()
  @Idempotent()
  @UseInterceptors(IdempotencyInterceptor)
  create() {
    return { execution: ++executions };
  }
}

@Controller()
class PlainController {
  @Post('plain')
  create() {
    return { execution: ++executions };
  }
}

const useGlobally = (app: INestApplication) => {
  app.useGlobalInterceptors(app.get(IdempotencyInterceptor));
};

const places: [string, Partial<IdempotentAppOptions>][] = [
  ['class and handler', {}],
  ['a global interceptor', { configure: useGlobally }],
  [
    'an APP_INTERCEPTOR of the same instance',
    { providers: [{ provide: APP_INTERCEPTOR, useExisting: IdempotencyInterceptor }] },
  ],
  [
    'an APP_INTERCEPTOR of its own instance, and globally',
    {
      providers: [{ provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor }],
      configure: useGlobally,
    },
  ],
];

forEachPlatform('The interceptor', (platform) => {
  describe.each(places)('on a route by %s', (_, options) => {
    it('acts once there, and not at all on other routes', async () => {
      executions = 0;
      const app = await startIdempotentApp(platform, {
        ...options,
        controllers: [OrdersController, PlainController],
      });
      const first = await send(`${app.url}/orders`, { key: 'twice' });
      const retry = await send(`${app.url}/orders`, { key: 'twice' });

      expect(first.status).toBe(201);
      expect(first.json()).toEqual({ execution: 1 });
      expect(retry.body).toEqual(first.body);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect((await send(`${app.url}/orders`)).json()).toMatchObject({ code: 'key_missing' });

      const plain = await send(`${app.url}/plain`, { key: 'twice' });
      expect(plain.json()).toEqual({ execution: 2 });
      await app.close();
    });
  });
});
