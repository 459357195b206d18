import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressPlatform } from './express.platform.js';
import { FastifyPlatform } from './fastify.platform.js';
import type { FastifyInstance } from './fastify-shapes.js';
import type { HttpPlatform } from './http-platform.js';

export interface HttpPlatformOptions {
  /** See `BROKEN_OFF_AFTER_MS`, the default. */
  brokenOffAfterMs?: number;
}

/** Call it while modules are being initialised: Fastify accepts no hooks once it is ready. */
export function createHttpPlatform(
  httpAdapter: AbstractHttpAdapter,
  options: HttpPlatformOptions = {},
): HttpPlatform {
  const type = httpAdapter.getType();
  switch (type) {
    case 'express':
      return new ExpressPlatform(options.brokenOffAfterMs);
    case 'fastify':
      return new FastifyPlatform(
        httpAdapter.getInstance<FastifyInstance>(),
        options.brokenOffAfterMs,
      );
    default:
      throw new Error(
        `nestjs-atomic-idempotency does not know the HTTP adapter '${type}': it would not see what ` +
          'the application answers, and could not replay it. Use @nestjs/platform-express or ' +
          '@nestjs/platform-fastify.',
      );
  }
}
