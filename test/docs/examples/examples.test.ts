import type { Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { DataSource } from 'typeorm';
import { makeDue, messages } from '../../outbox/messages.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { send } from '../../support/http.js';
import { age, runJob } from '../../support/jobs.js';
import { forEachPlatform, type TestApp } from '../../support/platforms.js';
import { until } from '../../support/until.js';
import { BackgroundRidesController } from './background-rides.controller.js';
import { CheckoutController } from './checkout.controller.js';
import { CheckoutService } from './checkout.service.js';
import { checkoutService } from './checkout.service.unit-test.js';
import { checkoutSurvivesCrashes } from './crash-safety.js';
import { Mailer } from './mailer.js';
import { OrderMails } from './order-mails.js';
import { Order } from './order.entity.js';
import { ordersController } from './orders.unit-test.js';
import { PaymentWebhooksController } from './payment-webhooks.controller.js';
import { Payments } from './payments.js';
import { RidesController } from './rides.controller.js';
import { RidesService } from './rides.service.js';
import { RocketsController } from './rockets.controller.js';

describe('Unit tests of the docs', () => {
  it('tests a controller without a database', async () => {
    const orders = await ordersController();
    expect(orders.create({ item: 'rocket' })).toMatchObject({ item: 'rocket' });
  });

  it('tests a service with phases without a database', async () => {
    const checkout = await (await checkoutService()).checkout('rocket', 4200);
    expect(checkout).toEqual({ order: 1, charge: 'ch_1' });
  });
});

// The first example's module reads its address while it is imported, so both platforms share the database.
let database: TestDatabase;
let AppModule: Type;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
  await database.query(
    'CREATE TABLE orders (id serial, item text, amount integer, "chargeId" text)',
  );
  process.env.DATABASE_URL = database.url;
  ({ AppModule } = await import('./app.module.js'));
});
afterAll(() => database.drop());

forEachPlatform('The examples of the docs', (platform) => {
  let server: TestApp;
  const payments = new Payments();
  const mailer = new Mailer();
  const headers = { authorization: 'Bearer alice' };
  const key = (name: string) => `${name}-${platform.name}`;

  beforeAll(async () => {
    server = await platform.start(
      {
        imports: [AppModule, TypeOrmModule.forFeature([Order])],
        controllers: [
          BackgroundRidesController,
          CheckoutController,
          RidesController,
          RocketsController,
          PaymentWebhooksController,
        ],
        providers: [
          CheckoutService,
          RidesService,
          OrderMails,
          { provide: Payments, useValue: payments },
          { provide: Mailer, useValue: mailer },
        ],
      },
      { logger: false },
    );
  });
  afterAll(() => server.close());

  it('runs the first example', async () => {
    const order = { key: key('order'), headers, body: { item: 'rocket' } };
    const first = await send(`${server.url}/orders`, order);
    const retry = await send(`${server.url}/orders`, order);
    expect(first.status).toBe(201);
    expect(retry.body).toEqual(first.body);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
  });

  it('runs the atomic phases, through a lost answer of the provider', async () => {
    payments.charges.clear();
    payments.losesNextAnswer = true;
    const checkout = { key: key('checkout'), headers, body: { item: 'rocket', amount: 4200 } };
    expect((await send(`${server.url}/checkout`, checkout)).status).toBe(500);
    const retry = await send(`${server.url}/checkout`, checkout);
    expect(retry.status).toBe(201);
    expect(retry.json()).toMatchObject({ charge: 'ch_1' });
    expect(payments.charges.size).toBe(1);
    const { order } = retry.json<{ order: number }>();
    expect(await database.query('SELECT "chargeId" FROM orders WHERE id = $1', [order])).toEqual([
      { chargeId: 'ch_1' },
    ]);
  });

  it('sells one rocket, wherever the process dies', async () => {
    payments.charges.clear();
    const body = { item: 'rocket', amount: 4200 };
    const { runs } = await verifyCrashSafety(
      server.app,
      { path: '/rockets', headers, body },
      { unknown: 'fail', observe: () => ({ charges: payments.charges.size }) },
    );
    expect(runs.length).toBeGreaterThan(8);
    expect(payments.charges.size).toBe(runs.length);
  });

  it('completes the resumable operation without its client', async () => {
    payments.charges.clear();
    payments.losesNextAnswer = true;
    const ride = { key: key('ride'), headers, body: { item: 'rocket', amount: 4200 } };
    expect((await send(`${server.url}/rides`, ride)).status).toBe(500);
    await age(database, ride.key);
    expect(await runJob(server, 'completer')).toBe(1);
    expect(payments.charges.size).toBe(1);
    expect((await send(`${server.url}/rides`, ride)).json()).toMatchObject({ charge: 'ch_1' });
  });

  it('runs the operation in the background', async () => {
    payments.charges.clear();
    const ride = { key: key('background'), headers, body: { item: 'rocket', amount: 4200 } };
    const accepted = await send(`${server.url}/background-rides`, ride);
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get('retry-after')).toBe('1');
    const answer = await until(async () => {
      const retry = await send(`${server.url}/background-rides`, ride);
      return retry.status === 201 ? retry : undefined;
    });
    expect(answer!.json()).toMatchObject({ charge: 'ch_1' });
    expect(payments.charges.size).toBe(1);
  });

  it('goes on with what a webhook tells', async () => {
    payments.charges.clear();
    payments.losesNextAnswer = true;
    const checkout = { key: key('told'), headers, body: { item: 'rocket', amount: 4200 } };
    expect((await send(`${server.url}/checkout`, checkout)).status).toBe(500);
    const [idempotencyKey] = payments.charges.keys();
    const body = { idempotencyKey, chargeId: 'ch_told' };
    const told = await send(`${server.url}/webhooks/payments`, { body });
    expect(told.json()).toMatchObject({ changed: true });
    const retry = await send(`${server.url}/checkout`, checkout);
    expect(retry.json()).toMatchObject({ charge: 'ch_told' });
  });

  it('sends the mail of a transaction that commits, once, and of no other', async () => {
    const dataSource = server.app.get(DataSource);
    const mails = server.app.get(OrderMails);
    mailer.losesNextAnswer = true;
    await dataSource.transaction((tx) => mails.confirm(tx, 7, 'ada'));
    await dataSource
      .transaction(async (tx) => {
        await mails.confirm(tx, 8, 'ada');
        throw new Error('the order fails');
      })
      .catch(() => undefined);
    await until(async () => (await messages(database))[0]?.last_error);
    await makeDue(database);
    await until(async () => (await messages(database)).length === 0);
    expect([...mailer.sent.values()]).toEqual([{ to: 'ada', subject: 'Order 7' }]);
  });

  it('verifies their crash safety', async () => {
    const table = await checkoutSurvivesCrashes(server.app);
    expect(table).toContain('charge_created:after_call');
    // Only where the provider has forgotten the key.
    const unknown = table.split('\n').filter((line) => line.includes('unknown'));
    expect(unknown).toEqual([expect.stringContaining('retried 25 h later')]);
  });
});
