import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Body, Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import Stripe from 'stripe';
import { send } from '../../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../../support/idempotent-app.js';
import { RabbitServer, Wire } from '../../messages/servers.js';
import { forEachPlatform } from '../../support/platforms.js';
import { until } from '../../support/until.js';
import { Bank } from './bank.js';
import { Mailer } from './mailer.js';
import { OrderMails } from './order-mails.js';
import { mailsLeaveOnce } from './order-mails.safety.js';
import { transfersAreFound } from './transfer.reconciler.honesty.js';
import { errorEnvelope } from './error-envelope.js';
import { InvoicesService } from './invoices.service.js';
import { PayoutProcessor } from './payout.processor.js';
import { PayoutsService } from './payouts.service.js';
import { ShipmentsController } from './shipments.controller.js';
import { StripePayments } from './stripe-payments.js';
import { TransferReconciler } from './transfer.reconciler.js';

@Controller()
class MoneyController {
  constructor(
    private readonly payouts: PayoutsService,
    private readonly payments: StripePayments,
  ) {}

  @Post('payouts')
  @Idempotent({ phased: true })
  payOut(@Body() { iban, amount }: { iban: string; amount: number }) {
    return this.payouts.payOut(iban, amount);
  }

  @Post('payments')
  @Idempotent({ phased: true })
  pay(@Body() { amount, card }: { amount: number; card: string }) {
    return this.payments.pay(amount, card);
  }
}

/** As much of Stripe as one payment needs: once per key, and it can lose its answers. */
class StripeServer {
  readonly intents = new Map<string, object>();
  losesAnswers = 0;
  private readonly server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (body.includes('card_declined')) {
        const error = { type: 'card_error', code: 'card_declined', message: 'Declined.' };
        response.writeHead(402).end(JSON.stringify({ error }));
        return;
      }
      const key = String(request.headers['idempotency-key']);
      const intent = this.intents.get(key) ?? {
        id: `pi_${this.intents.size + 1}`,
        object: 'payment_intent',
        status: 'succeeded',
      };
      this.intents.set(key, intent);
      if (this.losesAnswers > 0) {
        this.losesAnswers -= 1;
        request.socket.destroy();
        return;
      }
      response.end(JSON.stringify(intent));
    });
  });

  async start(): Promise<Stripe> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const { port } = this.server.address() as AddressInfo;
    return new Stripe('sk_test_local', {
      host: '127.0.0.1',
      port,
      protocol: 'http',
      telemetry: false,
    });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

forEachPlatform('The examples of the guides', (platform) => {
  let app: IdempotentApp;
  let bank: Bank;
  let stripe: StripeServer;
  const wire = new Wire();
  const rabbit = new RabbitServer();

  beforeAll(async () => {
    bank = new Bank();
    stripe = new StripeServer();
    app = await startIdempotentApp(platform, {
      controllers: [MoneyController, ShipmentsController],
      async configure(hybrid) {
        for (const strategy of [wire, rabbit]) hybrid.connectMicroservice({ strategy });
        await hybrid.startAllMicroservices();
      },
      providers: [
        PayoutsService,
        InvoicesService,
        PayoutProcessor,
        StripePayments,
        TransferReconciler,
        OrderMails,
        Mailer,
        { provide: Bank, useValue: bank },
        { provide: Stripe, useValue: await stripe.start() },
      ],
      idempotency: { dialect: errorEnvelope },
      logger: false,
    });
  });
  beforeEach(() => {
    bank.transfers.length = 0;
    stripe.intents.clear();
  });
  afterAll(async () => {
    await app.close();
    await stripe.stop();
  });

  it('verifies the outbox handler and the reconciler', async () => {
    expect(await mailsLeaveOnce(app.app)).toContain('delivered twice at the same time');
    expect(await transfersAreFound(app.app)).toContain('a call that is found at the second look');
  });

  it('asks the reconciler about a call in doubt, and pays once', async () => {
    bank.losesNextAnswer = true;
    const payout = { key: 'payout', body: { iban: 'DE00', amount: 100 } };
    const paid = await send(`${app.url}/payouts`, payout);
    expect(paid.status).toBe(201);
    expect(paid.json()).toMatchObject({ id: 'tr_1' });
    expect(bank.transfers).toHaveLength(1);
  });

  it('repeats a payment with Stripe under the same effect key', async () => {
    // stripe-node asks once more by itself when a connection breaks, whatever its settings say.
    stripe.losesAnswers = 2;
    const payment = { key: 'payment', body: { amount: 4200, card: 'card_visa' } };
    expect((await send(`${app.url}/payments`, payment)).status).toBe(500);
    const retry = await send(`${app.url}/payments`, payment);
    expect(retry.json()).toEqual({ id: 'pi_1', status: 'succeeded' });
    expect(stripe.intents.size).toBe(1);
  });

  it('takes a declined card for the final answer', async () => {
    const payment = { key: 'declined', body: { amount: 4200, card: 'card_declined' } };
    const first = await send(`${app.url}/payments`, payment);
    const retry = await send(`${app.url}/payments`, payment);
    expect([first.status, retry.status]).toEqual([402, 402]);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.body).toEqual(first.body);
  });

  it('closes a day once, whoever calls', async () => {
    await app.database.query('CREATE TABLE IF NOT EXISTS invoices (id serial, day text)');
    const invoices = app.app.get(InvoicesService);
    const closed = await Promise.allSettled([
      invoices.closeDay('2026-11-17'),
      invoices.closeDay('2026-11-17'),
    ]);
    expect(closed.map(({ status }) => status)).toContain('fulfilled');
    expect(await invoices.closeDay('2026-11-17')).toEqual({ day: '2026-11-17', count: 1 });
    expect(await app.database.query('SELECT day FROM invoices')).toEqual([{ day: '2026-11-17' }]);
    await app.database.query('DROP TABLE invoices');
  });

  it('takes a message once, and acknowledges it', async () => {
    await app.database.query('CREATE TABLE shipments ("order" int, released boolean)');
    const context = { getMap: () => ({ 'idempotency-key': 'shipment-1' }) };
    for (let delivery = 0; delivery < 2; delivery++) {
      const created = await wire.deliver('shipments.create', { order: 7 }, context);
      expect(created).toEqual({ order: 7, state: 'created' });
      await rabbit.deliver('orders.paid', { order: 7 });
      await until(() => rabbit.settled.length > delivery);
    }
    expect(rabbit.settled.map(([, how]) => how)).toEqual(['ack', 'ack']);
    const shipments = await app.database.query('SELECT * FROM shipments');
    expect(shipments).toEqual([{ order: 7, released: true }]);
    await app.database.query('DROP TABLE shipments');
  });

  it('processes a job of a queue once', async () => {
    const processor = app.app.get(PayoutProcessor);
    const job = { id: 'job-1', data: { account: 'acme', amount: 100 } };
    expect(await processor.process(job)).toEqual({ paid: 100 });
    expect(await processor.process(job)).toEqual({ paid: 100 });
    const other = { ...job, data: { account: 'acme', amount: 200 } };
    await expect(processor.process(other)).rejects.toMatchObject({ code: 'key_reused' });
  });

  it('answers in the envelope of the API', async () => {
    const refused = await send(`${app.url}/payouts`, { body: {} });
    expect(refused.status).toBe(400);
    expect(refused.headers.get('x-error-code')).toBe('key_missing');
    expect(refused.json()).toMatchObject({
      error: { code: 'key_missing', message: 'Idempotency-Key is missing', retryable: false },
    });
  });
});
