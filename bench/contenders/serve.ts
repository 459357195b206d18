import 'reflect-metadata';
import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { roundTripsSoFar } from './trip-counter.js';

/** Above the largest body of the bench; the frameworks' own limits are below it. */
const BODY_LIMIT = 4 * 1024 * 1024;

/** What the bench may ask a server, besides its HTTP routes. */
export type Questions = Record<string, (argument: any, app: INestApplication) => unknown>;

/**
 * Runs a contender in this process, on the HTTP adapter that the bench asks for,
 * until the bench goes away.
 */
export async function serve(module: Type, questions: Questions = {}): Promise<void> {
  const app = await create(module);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };

  const known: Questions = {
    cpu: () => process.cpuUsage(),
    trips: roundTripsSoFar,
    ...questions,
  };
  const answer = async ({ id, question, argument }: Question) => {
    try {
      process.send!({ id, answer: await known[question]!(argument, app) });
    } catch (error) {
      process.send!({ id, error: String(error) });
    }
  };
  process.on('message', (question: Question) => void answer(question));
  // Not app.close(): what is still on its way has no one to go to.
  process.once('disconnect', () => process.exit());
  process.send!({ port });
}

interface Question {
  id: number;
  question: string;
  argument: unknown;
}

async function create(module: Type): Promise<INestApplication> {
  const logger = ['fatal', 'error'] as const;
  if (process.env.BENCH_PLATFORM === 'fastify') {
    return NestFactory.create(module, new FastifyAdapter({ bodyLimit: BODY_LIMIT }), {
      logger: [...logger],
    });
  }
  const app = await NestFactory.create<NestExpressApplication>(module, {
    bodyParser: false,
    logger: [...logger],
  });
  app.useBodyParser('json', { limit: BODY_LIMIT });
  return app;
}
