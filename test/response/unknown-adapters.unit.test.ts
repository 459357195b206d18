import { ExpressAdapter } from '@nestjs/platform-express';
import { describe, expect, it } from '@jest/globals';
import { createHttpPlatform } from '../../lib/response/platforms.js';

class KoaAdapter extends ExpressAdapter {
  override getType(): string {
    return 'koa';
  }
}

describe('An unknown HTTP adapter', () => {
  it('is refused, and the error names the known ones', () => {
    const create = () => createHttpPlatform(new KoaAdapter());
    expect(create).toThrow("'koa'");
    expect(create).toThrow('@nestjs/platform-express or @nestjs/platform-fastify');
  });
});
