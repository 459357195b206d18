// A process that delivers messages of the outbox: to the payment provider, whose
// ledger shows what took effect, or into a table in which all processes write.
import { Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  IdempotencyModule,
  Maintenance,
  OutboxHandler,
  type DeliveredMessage,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { barrier } from '../support/barrier.js';
import { emit, serve } from '../support/child-server.js';

const { DATABASE = '', PROVIDER = '', INTERVAL = '20ms' } = process.env;

/** Where deliveries of the topic `held charges` stop. */
const gate = barrier();
let failsBehindTheGate = false;

@Injectable()
class Handlers {
  constructor(private readonly dataSource: DataSource) {}

  /** Takes effect once per message id, because the provider honours it as its key. */
  @OutboxHandler('charges')
  async charge({ id, payload, attempt }: DeliveredMessage<{ amount: number }>) {
    emit('charging', { id, attempt });
    const response = await fetch(new URL('/charges', PROVIDER), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify({
        amount: payload.amount,
        currency: 'usd',
        card: 'card_visa',
        description: `Message ${id}`,
      }),
    });
    if (!response.ok) throw new Error(`The provider answered ${response.status}.`);
    emit('charged', { id, attempt });
  }

  @OutboxHandler('held charges')
  async chargeWhenTold(message: DeliveredMessage<{ amount: number }>) {
    emit('held', { id: message.id, attempt: message.attempt });
    await gate.pass();
    await this.charge(message);
    if (failsBehindTheGate) throw new Error('Failed as the test has told it to.');
  }

  /** Shows who had a message, and from when to when. */
  @OutboxHandler('visits')
  async visit({ id }: DeliveredMessage) {
    const [visit] = await this.dataSource.query<{ id: string }[]>(
      'INSERT INTO visits (message, process, came) VALUES ($1, $2, clock_timestamp()) RETURNING id',
      [id, process.pid],
    );
    await this.dataSource.query('UPDATE visits SET went = clock_timestamp() WHERE id = $1', [
      visit!.id,
    ]);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    IdempotencyModule.forRoot({
      scope: 'global',
      maintenance: {
        sweeper: false,
        reaper: false,
        completer: false,
        reconciler: false,
        outbox: { interval: INTERVAL, maxInterval: INTERVAL, batch: 10 },
      },
    }),
  ],
  providers: [Handlers],
})
class WorkerModule {}

await serve(WorkerModule, {
  configure: (app) => {
    app.enableShutdownHooks();
  },
  commands: {
    look: (_, app) => app.get(Maintenance, { strict: false }).wake('outbox'),
    goOn: (ending: 'succeed' | 'fail') => {
      failsBehindTheGate = ending === 'fail';
      gate.open();
    },
  },
});
