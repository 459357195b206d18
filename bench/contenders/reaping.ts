/** This library with its reaper, which the bench turns on and off. */
import { Body, Controller, Module, Post, type INestApplication } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule, Idempotent, Maintenance } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { dataSource } from './data-source.js';
import { accept, type Payment } from './payment.js';
import { serve } from './serve.js';

@Controller()
@Idempotent()
class PaymentsController {
  @Post('payments')
  create(@Body() payment: Payment) {
    return accept(payment);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      ...dataSource,
      migrations: idempotencyMigrations,
      migrationsRun: true,
    }),
    IdempotencyModule.forRoot({
      scope: 'global',
      maintenance: {
        sweeper: false,
        completer: false,
        reconciler: false,
        outbox: false,
        // Only when it is woken; with its own batches and pauses from there on.
        reaper: { interval: '1d' },
      },
    }),
  ],
  controllers: [PaymentsController],
})
class AppModule {}

await serve(AppModule, {
  reap: (on: boolean, app: INestApplication) => {
    const maintenance = app.get(Maintenance, { strict: false });
    if (!on) return maintenance.stop(0);
    maintenance.start();
    maintenance.wake('reaper');
  },
  reaped: (_: unknown, app: INestApplication) =>
    app.get(Maintenance, { strict: false }).status.find(({ name }) => name === 'reaper'),
});
