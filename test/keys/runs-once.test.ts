import { Body, Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

@Controller()
class OrdersController {
  @Post('orders')
  @Idempotent()
  create(@Body() body: { item: string }): { order: number; item: string } {
    executions += 1;
    return { order: executions, item: body.item };
  }
}

forEachPlatform('A request', (platform) => {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController] });
    executions = 0;
  });
  afterAll(() => app.close());

  it('runs once, and its retry gets the same bytes', async () => {
    const order = { key: 'order-1', body: { item: 'rocket' } };
    const first = await send(`${app.url}/orders`, order);
    const retry = await send(`${app.url}/orders`, order);

    expect(first.status).toBe(201);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(retry.status).toBe(201);
    expect(retry.body).toEqual(first.body);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    for (const header of ['content-type', 'idempotency-key-expires']) {
      expect(retry.headers.get(header)).toBe(first.headers.get(header));
    }
    expect(executions).toBe(1);
  });
});
