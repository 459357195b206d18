import { Controller, Get, Post, VersioningType, type NestInterceptor } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { map } from 'rxjs';
import {
  Idempotent,
  type IdempotencyModuleExtras,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentAppOptions } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

@Controller({ path: 'orders', version: '2' })
class OrdersController {
  @Post()
  @Idempotent({ retention: '7d' })
  create(): void {}

  @Post('quick')
  @Idempotent({ retention: '36h' })
  quick(): void {}

  @Get()
  list(): { orders: [] } {
    return { orders: [] };
  }
}

const envelope: NestInterceptor = {
  intercept: (_, next) => next.handle().pipe(map((data) => ({ data }))),
};

forEachPlatform('The discovery resource', (platform) => {
  const started = (
    idempotency: Partial<IdempotencyModuleOptions> & IdempotencyModuleExtras,
    options: Partial<IdempotentAppOptions> = {},
  ) => startIdempotentApp(platform, { idempotency, controllers: [OrdersController], ...options });
  const ask = (url: string, headers = {}) =>
    send(`${url}/.well-known/idempotency`, { method: 'GET', headers });

  it('tells clients the header, the key, the retention, the dialect and the status route', async () => {
    const { url, close } = await started({
      discovery: true,
      header: 'X-Operation',
      statusPath: 'operations',
      specification: 'https://shop.example.com/idempotency',
    });
    const answer = await ask(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.json()).toEqual({
      header: 'X-Operation',
      key: { min_length: 1, max_length: 255, pattern: expect.any(String) },
      // The shortest of all routes.
      retention_seconds: 36 * 3600,
      dialect: 'ietf',
      specification: 'https://shop.example.com/idempotency',
      status: '/operations/{id}',
    });
    await close();
  });

  it('may be kept for an hour, and is not sent again to who has it', async () => {
    const { url, close } = await started({ discovery: true, dialect: 'stripe' });
    const first = await ask(url);
    expect(first.headers.get('cache-control')).toBe('public, max-age=3600');
    const etag = first.headers.get('etag')!;
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await ask(url, { 'if-none-match': known });
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await ask(url, { 'if-none-match': '"other"' })).status).toBe(200);
    expect(first.json().dialect).toBe('stripe');
    await close();
  });

  it('is at the top of the server, whatever prefix, versions and interceptors there are', async () => {
    const { url, close } = await started(
      { discovery: true, statusPath: 'operations', retention: 'forever' },
      {
        configure: (app) => {
          app.setGlobalPrefix('api', { exclude: ['orders'] });
          app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' });
          app.useGlobalInterceptors(envelope);
        },
      },
    );
    expect((await ask(url)).json()).toMatchObject({
      header: 'Idempotency-Key',
      status: '/api/operations/{id}',
    });
    expect((await send(`${url}/api/.well-known/idempotency`, { method: 'GET' })).status).toBe(404);
    // What the application itself has left out of its prefix stays there.
    const orders = await send(`${url}/v2/orders`, { method: 'GET' });
    expect(orders.json()).toEqual({ data: { orders: [] } });
    await close();
  });

  it('tells that keys are kept for ever, and of an envelope of your own', async () => {
    const { url, close } = await started(
      { discovery: true, retention: 'forever', dialect: ({ code }) => ({ body: { code } }) },
      { controllers: [] },
    );
    expect((await ask(url)).json()).toMatchObject({ retention_seconds: null, dialect: 'own' });
    await close();
  });

  it('is not there unless it was asked for', async () => {
    const { url, close } = await started({});
    expect((await ask(url)).status).toBe(404);
    await close();
  });

  it('is on or off', async () => {
    await expect(started({ discovery: 'yes' as never })).rejects.toThrow(
      "discovery is 'yes'. Use true",
    );
  });
});
