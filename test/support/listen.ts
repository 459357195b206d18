import type { INestApplication } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';

export const platformNames = ['express', 'fastify'] as const;
export type PlatformName = (typeof platformNames)[number];

/** Loads the adapter that is asked for: a process that a test starts needs one of them only. */
export async function createAdapter(name: PlatformName): Promise<AbstractHttpAdapter> {
  if (name === 'express') {
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return new ExpressAdapter();
  }
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  return new FastifyAdapter();
}

/** Starts the server on the loopback interface and returns its URL. */
export async function listen(app: INestApplication, name: PlatformName, port = 0): Promise<string> {
  await app.init();
  // Fastify registers its plugins and routes only now; requests before it get 404.
  if (name === 'fastify') await app.getHttpAdapter().getInstance().ready();
  await app.listen(port, '127.0.0.1');
  return app.getUrl();
}
