import { ExpressAdapter } from '@nestjs/platform-express';
import { expect, it } from '@jest/globals';
import { createHttpPlatform } from '../../lib/response/platforms.js';

class KoaAdapter extends ExpressAdapter {
  override getType(): string {
    return 'koa';
  }
}

it('An HTTP adapter that nobody here knows is refused, with the ones that are known', () => {
  const create = () => createHttpPlatform(new KoaAdapter());
  expect(create).toThrow("'koa'");
  expect(create).toThrow('@nestjs/platform-express or @nestjs/platform-fastify');
});
