import { Body, Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';

@Controller('shops/:shop')
class OrdersController {
  @Post('orders')
  @Idempotent({ onServerError: 'unknown' })
  fails(): never {
    throw new Error('a bug');
  }

  @Post('kept')
  @Idempotent({ keepRequest: true })
  kept(@Body() body: unknown): unknown {
    return body;
  }

  @Post('chosen')
  @Idempotent({
    keepRequest: ({ body }: { body: { amount: number } }) => ({ amount: body.amount }),
  })
  chosen(): object {
    return {};
  }

  @Post('broken')
  @Idempotent({
    keepRequest: () => {
      throw new Error('a bug');
    },
  })
  broken(): object {
    return {};
  }
}

forEachPlatform('Inspected requests', (platform) => {
  describe('show', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
    });
    afterAll(() => app.close());

    const inspect = async (path: string, body: unknown) => {
      const answer = await send(`${app.url}/shops/7/${path}?token=secret`, { key: path, body });
      const { id } = await keyRow(app.database, path);
      return { status: answer.status, report: await operatorOf(app).inspect(id) };
    };

    it('its method, route and path, without the query, and nothing of its body', async () => {
      const { report } = await inspect('orders', { card: '4242' });
      expect(report).toMatchObject({
        status: 'unknown',
        method: 'POST',
        route: '/shops/:shop/orders',
        path: '/shops/7/orders',
        request: null,
      });
      expect(JSON.stringify(report)).not.toMatch(/secret|4242/);
      const { keys } = await operatorOf(app).find({ status: 'unknown' });
      expect(keys).toMatchObject([{ method: 'POST', path: '/shops/7/orders' }]);
    });

    it('the body, or what keepRequest chooses of it', async () => {
      const body = { card: '4242', amount: 5 };
      expect((await inspect('kept', body)).report).toMatchObject({ request: body });
      expect((await inspect('chosen', body)).report).toMatchObject({ request: { amount: 5 } });
    });

    it('that a body is too large to keep, or that keepRequest failed, and the request continues', async () => {
      await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'kept'`);
      const large = await inspect('kept', { text: 'x'.repeat(70_000) });
      expect(large).toMatchObject({
        status: 201,
        report: { request: expect.stringContaining('not kept: 70') },
      });
      const broken = await inspect('broken', {});
      expect(broken).toMatchObject({
        status: 201,
        report: { request: expect.stringContaining('not kept') },
      });
    });
  });
});
