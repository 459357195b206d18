import { Controller, Module, Post } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

const calls = { orders: 0 };

@Controller()
class OrdersController {
  @Post('orders')
  @Idempotent()
  order(): object {
    return { number: (calls.orders += 1) };
  }
}

/** By account, as the scope is. */
class AccountThrottler extends ThrottlerGuard {
  protected override async getTracker(request: Record<string, any>): Promise<string> {
    await Promise.resolve();
    return request.headers['x-account'];
  }
}

@Module({
  imports: [ThrottlerModule.forRoot([{ ttl: 3_600_000, limit: 5 }])],
  providers: [{ provide: APP_GUARD, useClass: AccountThrottler }],
})
class Throttling {}

forEachPlatform('With @nestjs/throttler', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    calls.orders = 0;
    app = await startIdempotentApp(platform, {
      imports: [Throttling],
      controllers: [OrdersController],
      idempotency: {
        scope: ({ headers }) => headers['x-account'],
        limits: { newKeysPerSecond: 0.001, burst: 2 },
      },
      logger: false,
    });
  });
  afterAll(() => app.close());

  const order = (key: string, account: string): Promise<Received> =>
    send(`${app.url}/orders`, { key, headers: { 'x-account': account } });
  const keysOf = async (account: string) =>
    (await app.database.query('SELECT key FROM idempotency_keys WHERE scope = $1', [account])).map(
      ({ key }) => key as string,
    );

  it('each request counts for the throttler, a replay as well, and new keys alone for limits', async () => {
    const answers = [];
    for (const key of ['one', 'one', 'one', 'two', 'three', 'one']) {
      answers.push(await order(key, 'a'));
    }
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 429, 429]);
    // The fifth is refused by the limits, the sixth by the throttler, in words of its own.
    expect(answers[4]!.json()).toMatchObject({ code: 'rate_limited', limit: 'newKeysPerSecond' });
    expect(answers[5]!.json()).not.toHaveProperty('code');
    expect(answers[5]!.headers.get('idempotent-replayed')).toBeNull();
    expect(calls.orders).toBe(2);
  });

  it('a throttled request never reaches the keys, so its 429 is not recorded', async () => {
    for (let count = 0; count < 5; count++) await order('first', 'b');
    expect((await order('throttled', 'b')).status).toBe(429);
    expect(await keysOf('b')).toEqual(['first']);
  });
});
