import type { INestApplication } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

export const platformNames = ['express', 'fastify'] as const;
export type PlatformName = (typeof platformNames)[number];

export function createAdapter(name: PlatformName): AbstractHttpAdapter {
  return name === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

/** Starts the server on the loopback interface and returns its URL. */
export async function listen(app: INestApplication, name: PlatformName, port = 0): Promise<string> {
  await app.init();
  // Fastify registers its plugins and routes only now; requests before it get 404.
  if (name === 'fastify') await app.getHttpAdapter().getInstance().ready();
  await app.listen(port, '127.0.0.1');
  return app.getUrl();
}
