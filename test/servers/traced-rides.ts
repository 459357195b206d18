// Rides with a charge and a receipt, whose spans are written to a file. The first
// process waits for ever in the charge, so that a test can kill it there.
import { Body, Controller, Injectable, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AtomicPhase,
  Idempotent,
  IdempotencyModule,
  Maintenance,
  Outbox,
  OutboxHandler,
  Resumable,
} from 'nestjs-atomic-idempotency';
import { IdempotencyTelemetryModule } from 'nestjs-atomic-idempotency/opentelemetry';
import { emit, serve } from '../support/child-server.js';
import { writeSpansTo } from '../support/span-file.js';

writeSpansTo(process.env.SPANS!);

@Injectable()
class Rides {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Resumable('rides.create')
  async create(ride: { to: string }) {
    await this.phase.local('ride_created', async () => ride);
    await this.phase.foreign('charge_created', {
      inDoubt: 'repeat',
      call: async () => {
        emit('charging');
        if (process.env.STUCK) await new Promise(() => undefined);
        return { charged: true };
      },
    });
    await this.phase.local('receipt_sent', async (tx) => {
      await this.outbox.add(tx, 'receipts', ride);
    });
    return ride;
  }

  @OutboxHandler('receipts')
  async deliver() {
    emit('receipt');
  }
}

@Controller('rides')
class RidesController {
  constructor(private readonly rides: Rides) {}

  @Post()
  @Idempotent({ phased: true })
  create(@Body() ride: { to: string }) {
    return this.rides.create(ride);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE ?? '',
      autoLoadEntities: true,
    }),
    IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
    IdempotencyTelemetryModule.forRoot({ metrics: false }),
  ],
  controllers: [RidesController],
  providers: [Rides],
})
class RidesModule {}

await serve(RidesModule, {
  commands: {
    run: (job: Parameters<Maintenance['runOnce']>[0], app) => app.get(Maintenance).runOnce(job),
  },
});
