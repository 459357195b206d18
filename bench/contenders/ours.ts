/** This library, with its default options. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AtomicPhase, IdempotencyModule, Idempotent } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import type { EntityManager } from 'typeorm';
import { dataSource } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { profiling } from './profiling.js';
import { roundTrips } from './round-trips.js';
import { serve } from './serve.js';
import { STEPS } from './steps.js';
import { countTraffic } from './traffic.js';
import { INSERT_WORK, prepareWork } from './work.js';

/** Long enough for all duplicates of a burst to arrive while the handler is at work. */
const SLOW_HANDLER = 250;

async function work(tx: EntityManager, step: string, { amount }: Payment) {
  await tx.query(INSERT_WORK, [step, amount]);
  return { done: step };
}

@Controller()
@Idempotent()
class PaymentsController {
  constructor(private readonly phases: AtomicPhase) {}

  @Post('payments')
  create(@Body() payment: Payment) {
    return accept(payment);
  }

  @Post('phased')
  @Idempotent({ phased: true })
  createPhased(@Body() payment: Payment) {
    return accept(payment);
  }

  @Post('local')
  @Idempotent({ phased: true })
  async withLocalPhase(@Body() payment: Payment) {
    return this.phases.local('payment_created', async (tx) => {
      await work(tx, 'payment_created', payment);
      return accept(payment);
    });
  }

  @Post('foreign')
  @Idempotent({ phased: true })
  async withForeignPhase(@Body() payment: Payment) {
    await this.phases.foreign('charged', { call: async () => ({ charged: true }) });
    return accept(payment);
  }

  @Post('local-and-foreign')
  @Idempotent({ phased: true })
  async withBothPhases(@Body() payment: Payment) {
    const created = await this.phases.local('payment_created', async (tx) => {
      await work(tx, 'payment_created', payment);
      return accept(payment);
    });
    await this.phases.foreign('charged', { call: async () => ({ charged: true }) });
    return created;
  }

  @Post('steps/local')
  @Idempotent({ phased: true })
  async inLocalPhases(@Body() payment: Payment) {
    for (const step of STEPS) await this.phases.local(step, (tx) => work(tx, step, payment));
    return accept(payment);
  }

  @Post('steps/foreign')
  @Idempotent({ phased: true })
  async inForeignPhases(@Body() payment: Payment) {
    for (const step of STEPS) {
      await this.phases.foreign(step, { call: async () => ({ done: step }) });
    }
    return accept(payment);
  }

  @Post('slow')
  @Idempotent({ onInProgress: 'wait' })
  async slowly(@Body() payment: Payment) {
    await pause(SLOW_HANDLER);
    return accept(payment);
  }
}

/** What `npm run bench -- --encrypted` measures. */
const encryption = process.env.BENCH_ENCRYPTED
  ? { encryption: { keys: [{ id: 'bench', secret: randomBytes(32) }] } }
  : {};
/** So high that nothing is refused: what is measured is the way to that. */
const LIMITS: Record<string, object> = {
  rate: { newKeysPerSecond: 1_000_000, waiting: 1_000_000 },
  counts: {
    newKeysPerSecond: 1_000_000,
    waiting: 1_000_000,
    outstanding: 1_000_000,
    storedKeys: 1_000_000,
    storedBytes: 1_000_000_000,
  },
};
const limits = LIMITS[process.env.BENCH_LIMITS ?? ''];

@Module({
  imports: [
    TypeOrmModule.forRoot({
      ...dataSource,
      migrations: idempotencyMigrations,
      migrationsRun: true,
    }),
    IdempotencyModule.forRoot({ scope: 'global', ...encryption, ...(limits && { limits }) }),
    ...(process.env.BENCH_TELEMETRY ? [(await import('./telemetry.js')).telemetry()] : []),
  ],
  controllers: [PaymentsController],
})
class AppModule {}

const traffic = countTraffic();
await prepareWork();
await serve(AppModule, { traffic, roundTrips, ...profiling });
