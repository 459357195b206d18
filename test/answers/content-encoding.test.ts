import { gunzipSync, gzipSync } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import { Controller, Post, Res, type INestApplication } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import compression from 'compression';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform, type PlatformName } from '../support/platforms.js';

const TEXT = 'Zwölf Boxkämpfer jagen Viktor. '.repeat(100);
const ZIPPED = gzipSync(TEXT);

interface AnyResponse {
  header(name: string, value: string): AnyResponse;
  send(body: Buffer): unknown;
}

@Controller()
class TextsController {
  @Post('plain')
  @Idempotent()
  plain() {
    return { text: TEXT };
  }

  @Post('zipped')
  @Idempotent()
  zipped(@Res() response: AnyResponse) {
    response.header('content-type', 'text/plain').header('content-encoding', 'gzip').send(ZIPPED);
  }
}

async function compress(name: PlatformName, app: INestApplication): Promise<void> {
  if (name === 'express') app.use(compression({ threshold: 0 }));
  else await (app as NestFastifyApplication).register(fastifyCompress, { threshold: 0 });
}

forEachPlatform('The content encoding', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [TextsController],
      configure: (nest) => compress(platform.name, nest),
    });
  });
  afterAll(() => app.close());

  const ask = (path: string, key: string, encoding: string) =>
    send(`${app.url}/${path}`, { key, headers: { 'accept-encoding': encoding } });

  it.each([
    ['gzip', 'identity'],
    ['identity', 'gzip'],
    ['gzip', 'gzip'],
  ])('follows each request: first %s, then %s', async (...encodings) => {
    const key = encodings.join('-');
    for (const encoding of encodings) {
      const answer = await ask('plain', key, encoding);
      const zipped = encoding === 'gzip';
      expect(answer.headers.get('content-encoding')).toBe(zipped ? 'gzip' : null);
      const body = zipped ? gunzipSync(answer.body) : answer.body;
      expect(body.toString()).toBe(JSON.stringify({ text: TEXT }));
    }
    // What is stored is the answer before it was compressed for one client.
    expect(JSON.parse((await keyRow(app.database, key)).response_body)).toEqual({ text: TEXT });
  });

  it('is kept if the application encoded the body itself', async () => {
    for (const replayed of [null, 'true']) {
      const answer = await ask('zipped', 'zipped', 'gzip');
      expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
      expect(answer.headers.get('content-encoding')).toBe('gzip');
      expect(answer.body).toEqual(ZIPPED);
    }
  });
});
