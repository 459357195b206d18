// One process of the shop: a server, or a worker, which has the jobs alone.
import type { IncomingMessage } from 'node:http';
import { HttpException, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule, IdempotencyOperator } from 'nestjs-atomic-idempotency';
import { PaymentClient } from '../../../sample-app/payments/payment-client.js';
import { PAYMENT_OPTIONS } from '../../../sample-app/payments/payment-options.js';
import { serve } from '../../support/child-server.js';
import { POOL, TIMES } from '../times.js';
import { ChargeReconciler } from './charge-reconciler.js';
import { Purchases } from './purchases.js';
import { PurchasesController } from './purchases.controller.js';
import { Receipts } from './receipts.js';
import { stepClock } from './stepped-clock.js';

const { DATABASE = '', PAYMENTS_URL = '', NAME = '', ROLE = 'server' } = process.env;

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: DATABASE,
      applicationName: NAME,
      autoLoadEntities: true,
      extra: { max: POOL },
    }),
    IdempotencyModule.forRoot({
      scope: ({ headers }: IncomingMessage) => headers['x-customer']?.toString(),
      lease: TIMES.lease,
      storeTimeout: TIMES.storeTimeout,
      shutdownTimeout: TIMES.shutdown,
      // So small that it is full before the heap is measured for the first time.
      replayCache: { maxBytes: 128 * 1024 },
      outbox: { lease: TIMES.lease },
      maintenance: {
        sweeper: { interval: '1s' },
        completer: { interval: '1s' },
        reconciler: { interval: '1s' },
        reaper: { interval: '2s', batch: 5 },
        outbox: { interval: '500ms', maxInterval: '1s' },
      },
    }),
  ],
  controllers: ROLE === 'server' ? [PurchasesController] : [],
  providers: [
    Purchases,
    ChargeReconciler,
    Receipts,
    PaymentClient,
    { provide: PAYMENT_OPTIONS, useValue: { url: PAYMENTS_URL, timeoutMs: TIMES.payment } },
  ],
})
class ShopModule {}

export interface Decision {
  effectKey: string;
  /** The entry of the provider's books; none if nothing was booked. */
  found?: { id: string; amount: number; declined?: string };
}

await serve(ShopModule, {
  configure: (app) => {
    app.enableShutdownHooks();
  },
  commands: {
    stepClock: (milliseconds: number) => stepClock(milliseconds),
    /** What a person decides who has looked into the provider's books. */
    decide: ({ effectKey, found }: Decision, app) =>
      app
        .get(IdempotencyOperator, { strict: false })
        .resolve(
          effectKey,
          found === undefined
            ? { outcome: 'not_executed' }
            : found.declined === undefined
              ? { outcome: 'executed', result: found }
              : { outcome: 'rejected', error: new HttpException(found.declined, 402) },
          'the soak',
        ),
    /** In bytes, without garbage. What waits to be finalised takes more than one round. */
    heap: async () => {
      for (let round = 0; round < 5; round++) {
        global.gc!();
        await new Promise((resolve) => setImmediate(resolve));
      }
      return process.memoryUsage().heapUsed;
    },
    sockets: () =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length,
  },
});
