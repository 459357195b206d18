// A service that sends messages of its outbox, and one whose inbox takes them. ROLE says
// which of them this process is, and AMQP whether RabbitMQ or TCP is between them.
import { Controller, Module } from '@nestjs/common';
import {
  ClientsModule,
  EventPattern,
  MessagePattern,
  Payload,
  Transport,
  type ClientProxy,
  type ClientProviderOptions,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AtomicPhase,
  IdempotencyModule,
  Idempotent,
  Maintenance,
  microserviceTransport,
  Outbox,
  type DeliveredMessage,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { observeFaultPoints } from '../../lib/faults/fault-points.js';
import { barrier } from '../support/barrier.js';
import { emit, serve } from '../support/child-server.js';

const { DATABASE = '', ROLE = '', AMQP = '', QUEUE = '', TCP_PORT = '0' } = process.env;
const tcp = { host: '127.0.0.1', port: Number(TCP_PORT) };
const rmq = { urls: [AMQP], queue: QUEUE, queueOptions: { durable: true } };

/** Where messages stop, by their ids. */
const stops = new Map<string, string>();
const gate = barrier();

async function stop(id: string, point: string): Promise<void> {
  if (stops.get(id) !== point) return;
  stops.delete(id);
  emit('stopped', id);
  await gate.pass();
}

@Controller()
@Idempotent({ phased: true, ...(AMQP && { settle: true }) })
class InboxController {
  constructor(private readonly phase: AtomicPhase) {}

  @MessagePattern('book')
  book(@Payload() { payload }: DeliveredMessage<{ item: string }>) {
    return this.write(payload.item);
  }

  @EventPattern('told')
  async told(@Payload() { item }: { item: string }) {
    await this.write(item);
  }

  private write(item: string) {
    return this.phase.local('booked', async (tx) => {
      await tx.query('INSERT INTO things (item) VALUES ($1)', [item]);
      return { item };
    });
  }
}

const client: ClientProviderOptions = AMQP
  ? { name: 'INBOX', transport: Transport.RMQ, options: rmq }
  : { name: 'INBOX', transport: Transport.TCP, options: tcp };

/** Stops before a message is sent, and when its answer has come but is not on record. */
function stoppable(inbox: ClientProxy) {
  const transport = microserviceTransport(inbox);
  return {
    async deliver(message: DeliveredMessage) {
      await stop(message.id, 'sending');
      await transport.deliver(message);
      await stop(message.id, 'answered');
    },
  };
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    ROLE === 'sender'
      ? IdempotencyModule.forRootAsync({
          imports: [ClientsModule.register([client])],
          inject: ['INBOX'],
          useFactory: (inbox: ClientProxy) => ({
            scope: 'global' as const,
            maintenance: false as const,
            outbox: { transport: stoppable(inbox) },
          }),
        })
      : IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
  ],
  controllers: ROLE === 'receiver' ? [InboxController] : [],
})
class ServiceModule {}

observeFaultPoints(({ name, key }) => stop(key, name));

await serve(ServiceModule, {
  async configure(app) {
    app.enableShutdownHooks();
    if (ROLE !== 'receiver') return;
    app.connectMicroservice<MicroserviceOptions>(
      AMQP
        ? { transport: Transport.RMQ, options: { ...rmq, noAck: false, prefetchCount: 20 } }
        : { transport: Transport.TCP, options: tcp },
    );
    await app.startAllMicroservices();
  },
  commands: {
    stopAt: (points: Record<string, string>) => {
      for (const [id, point] of Object.entries(points)) stops.set(id, point);
    },
    goOn: () => gate.open(),
    add: (items: string[], app) =>
      app
        .get(DataSource)
        .transaction((tx) =>
          Promise.all(items.map((item) => app.get(Outbox).add(tx, 'book', { item }))),
        ),
    deliver: (_, app) => app.get(Maintenance, { strict: false }).runOnce('outbox'),
  },
});
