import type { INestApplication } from '@nestjs/common';
import {
  ClientProxyFactory,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
  type RmqOptions,
} from '@nestjs/microservices';

function queueAt(url: string): RmqOptions['options'] {
  return { urls: [url], queue: 'rocket-rides', queueOptions: { durable: true } };
}

/** Has the app take bookings as well. */
export async function takeBookings(app: INestApplication, amqpUrl: string): Promise<void> {
  app.connectMicroservice<MicroserviceOptions>(
    {
      transport: Transport.RMQ,
      // RabbitMQ keeps a message until it is acknowledged, so a crash loses none.
      options: { ...queueAt(amqpUrl), noAck: false, prefetchCount: 10 },
    },
    { inheritAppConfig: true },
  );
  await app.startAllMicroservices();
}

/** What an agency sends with. */
export function agencyClient(amqpUrl: string): ClientProxy {
  return ClientProxyFactory.create({
    transport: Transport.RMQ,
    options: { ...queueAt(amqpUrl), persistent: true },
  });
}
