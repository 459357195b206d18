import { NestFactory } from '@nestjs/core';
import type { INestApplication, NestApplicationOptions } from '@nestjs/common';
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
  const module = (await moduleFor(configuration)).forRoot(configuration);
  return configuration.platform === 'fastify'
    ? NestFactory.create(module, new FastifyAdapter(), OPTIONS)
    : NestFactory.create(module, new ExpressAdapter(), OPTIONS);
}

/** GraphQL is loaded by those who want it only. */
async function moduleFor({ graphql }: Configuration): Promise<typeof AppModule> {
  return graphql ? (await import('./graphql/app.module.js')).GraphqlAppModule : AppModule;
}
