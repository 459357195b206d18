import { Body, Controller, Param, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

interface Order {
  reference?: unknown;
  dryRun?: boolean;
}

let executions = 0;

@Controller()
@Idempotent({
  scope: (request) => request.headers['x-tenant'],
  skip: ({ body }: { body?: Order }) => body?.dryRun === true,
})
class OrdersController {
  constructor(private readonly phases: AtomicPhase) {}

  @Post('orders')
  @Idempotent({ key: ({ body }: { body: Order }) => body.reference as string })
  create() {
    return { execution: ++executions };
  }

  @Post('orders/:id/payments')
  @Idempotent({ key: ({ params }: { params: { id: string } }) => params.id })
  pay(@Param('id') id: string) {
    return { id, execution: ++executions };
  }

  @Post('refunds')
  refund(@Body() { dryRun = false }: Order) {
    return this.phases.local('refunded', async () => ({ dryRun, execution: ++executions }));
  }

  @Post('global')
  @Idempotent({ scope: 'global' })
  global() {
    return { execution: ++executions };
  }
}

forEachPlatform('Per route', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    // The module's own scope finds nobody, so a route that asked it would be refused.
    app = await startIdempotentApp(platform, {
      controllers: [OrdersController],
      idempotency: { scope: () => undefined },
      logger: false,
    });
  });
  afterAll(() => app.close());

  const post = (path: string, body: Order = {}, tenant = 'acme', key?: string) =>
    send(`${app.url}/${path}`, {
      body,
      headers: { 'x-tenant': tenant },
      ...(key !== undefined && { key }),
    });

  it('takes the key from the body', async () => {
    const first = await post('orders', { reference: 'A-1' });
    const retry = await post('orders', { reference: 'A-1' });
    expect([first.status, retry.status]).toEqual([201, 201]);
    expect(retry.body).toEqual(first.body);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    // Whatever a header says.
    expect((await post('orders', { reference: 'A-1' }, 'acme', 'other')).body).toEqual(first.body);
    expect((await post('orders', { reference: 'A-2' })).body).not.toEqual(first.body);
    expect((await post('orders', { reference: 7 })).status).toBe(201);
  });

  it.each([
    ['missing', undefined, 'key_missing'],
    ['empty', '', 'key_missing'],
    ['too long', 'x'.repeat(256), 'key_invalid'],
    ['an object', { id: 1 }, 'key_invalid'],
    ['a fraction', 1.5, 'key_invalid'],
    ['a text with NUL', 'a\0b', 'key_invalid'],
  ])('refuses a key in the body that is %s', async (_what, reference, code) => {
    const refused = await post('orders', { reference });
    expect(refused.status).toBe(400);
    expect(refused.json()).toMatchObject({ code });
  });

  it('takes the key from the path', async () => {
    const first = await post('orders/o-1/payments');
    expect((await post('orders/o-1/payments')).body).toEqual(first.body);
    expect((await post('orders/o-2/payments')).json()).toMatchObject({ id: 'o-2' });
  });

  it('asks the route for the scope', async () => {
    const acme = await post('refunds', {}, 'acme', 'r-1');
    expect((await post('refunds', {}, 'acme', 'r-1')).body).toEqual(acme.body);
    expect((await post('refunds', {}, 'umbrella', 'r-1')).body).not.toEqual(acme.body);
    const everybody = await post('global', {}, 'acme', 'g-1');
    expect((await post('global', {}, 'umbrella', 'g-1')).body).toEqual(everybody.body);
  });

  it('runs what is skipped untouched, phases included, with and without a key', async () => {
    const runs = [
      await post('refunds', { dryRun: true }, 'acme', 's-1'),
      await post('refunds', { dryRun: true }, 'acme', 's-1'),
      await post('refunds', { dryRun: true }),
    ];
    expect(runs.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(runs.map(({ text }) => text)).size).toBe(3);
    const rows = await app.database.query(`SELECT FROM idempotency_keys WHERE key = 's-1'`);
    expect(rows).toEqual([]);
  });
});

forEachPlatform('Mistakes per route', (platform) => {
  it.each<[object, RegExp]>([
    [{ key: 'reference' }, /OrderController.create: key is 'reference'. Use a function/],
    [{ scope: 'acme' }, /OrderController.create: scope is 'acme'. Use a function/],
    [{ skip: true }, /OrderController.create: skip is true. Use a function/],
  ])('end the boot: %j', async (policy, message) => {
    @Controller()
    class OrderController {
      @Post()
      @Idempotent(policy)
      create() {}
    }
    const start = startIdempotentApp(platform, { controllers: [OrderController], logger: false });
    await expect(start).rejects.toThrow(message);
  });
});
