import { Body, Controller, Post, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Sending } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { writtenRow } from '../support/written-row.js';

let executions = 0;

@Controller()
class OrdersController {
  @Post('orders')
  @Idempotent()
  create(@Body() body: unknown) {
    executions += 1;
    return body;
  }
}

class DoorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-stranger'] === undefined;
  }
}

forEachPlatform('Requests refused before the key is reserved', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [OrdersController],
      providers: [{ provide: APP_GUARD, useClass: DoorGuard }],
      logger: false,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    executions = 0;
  });

  const json = { 'content-type': 'application/json' };
  it.each<[string, Sending, number]>([
    ["A guard's refusal", { headers: { 'x-stranger': 'yes' } }, 403],
    ['Broken JSON', { body: '{"amount":', headers: json }, 400],
    [
      'A body beyond the limit',
      { body: JSON.stringify('x'.repeat(2_000_000)), headers: json },
      413,
    ],
  ])('leave no row: %s', async (name, refused, status) => {
    const key = name.replaceAll(' ', '-');
    expect((await send(`${app.url}/orders`, { key, ...refused })).status).toBe(status);
    expect(await writtenRow(app.database, key)).toBeUndefined();
    expect(executions).toBe(0);

    const corrected = await send(`${app.url}/orders`, { key, body: { amount: 1 } });
    expect([corrected.status, corrected.json()]).toEqual([201, { amount: 1 }]);
    expect(executions).toBe(1);
  });
});
