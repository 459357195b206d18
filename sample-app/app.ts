import { NestFactory } from '@nestjs/core';
import type { INestApplication, NestApplicationOptions, Type } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import type { Configuration } from './configuration.js';

const OPTIONS: NestApplicationOptions = {
  logger: ['warn', 'error', 'fatal'],
  // Throw instead of aborting the process, so that the caller can clean up.
  abortOnError: false,
  // The signature of a webhook is over its bytes.
  rawBody: true,
};

/** The app on either HTTP platform, ready to listen. */
export async function createApp(configuration: Configuration): Promise<INestApplication> {
  const module = AppModule.forRoot(configuration, await waysInto(configuration));
  const app = await (configuration.platform === 'fastify'
    ? NestFactory.create(module, new FastifyAdapter(), OPTIONS)
    : NestFactory.create(module, new ExpressAdapter(), OPTIONS));
  if (configuration.amqpUrl !== undefined) {
    const { takeBookings } = await import('./rabbitmq/queue.js');
    await takeBookings(app, configuration.amqpUrl);
  }
  return app;
}

/** Loaded by those who want them only. */
async function waysInto({ graphql, amqpUrl }: Configuration): Promise<Type[]> {
  const ways: Type[] = [];
  if (graphql) ways.push((await import('./graphql/graphql.module.js')).RidesGraphqlModule);
  if (amqpUrl !== undefined) {
    ways.push((await import('./rabbitmq/rabbitmq.module.js')).RidesRabbitmqModule);
  }
  return ways;
}
