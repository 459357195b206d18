import {
  Controller,
  ConflictException,
  Header,
  HttpCode,
  Post,
  Redirect,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

@Controller()
class Handlers {
  @Post('object')
  @Header('Content-Type', 'application/vnd.orders+json')
  @Header('Cache-Control', 'private')
  object(@Res({ passthrough: true }) response: AnyResponse) {
    response.header('Set-Cookie', 'session=of-the-handler');
    response.header('ETag', '"1"').header('Location', '/1').header('X-Total', '7');
    response.header('X-Request-Id', 'changed');
    return { id: 1 };
  }

  @Post('no-content')
  @HttpCode(204)
  noContent(): void {}

  @Post('exception')
  exception() {
    throw new ConflictException();
  }

  @Post('redirect')
  @Redirect('/elsewhere', 302)
  redirect(): void {}

  @Post('file')
  file() {
    return new StreamableFile(Buffer.from('content'), { disposition: 'attachment', length: 7 });
  }

  @Post('too-large')
  tooLarge() {
    return new StreamableFile(Readable.from(Array.from({ length: 50 }, () => 'x'.repeat(100))));
  }

  @Post('too-large-raw')
  tooLargeRaw(@Res() response: AnyResponse) {
    response.hijack?.();
    const raw = rawOf(response);
    let left = 50;
    const write = () => {
      for (; left > 0; left -= 1) {
        if (!raw.write('x'.repeat(100))) return void raw.once('drain', write);
      }
      raw.end();
    };
    setImmediate(write);
  }

  @Post('raw')
  raw(@Res() response: AnyResponse) {
    response.hijack?.();
    rawOf(response).writeHead(299, 'Strange', { 'content-length': '3', 'x-total': '8' });
    rawOf(response).end('raw');
  }

  @Post('send-then-throw')
  sendThenThrow(@Res() response: AnyResponse) {
    response.send('first');
    throw new Error('second');
  }
}

const paths = Reflect.ownKeys(Handlers.prototype)
  .filter((name) => name !== 'constructor')
  .map((name) => Reflect.getMetadata('path', Reflect.get(Handlers.prototype, name)) as string);

forEachPlatform('Replaced answers', (platform) => {
  describe('An answer that is replaced', () => {
    const body = Buffer.from('{"code":"store_unavailable"}');
    const headers = { 'content-type': 'application/problem+json', 'retry-after': '7' };
    let status = 503;
    const recorder = new Recorder({
      maxBytes: 1_000,
      decide: () => ({ kind: 'replace', answer: { status, headers, body } }),
    });
    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start(
        { controllers: [Handlers], providers: [recorder.interceptor()] },
        {
          logger: false,
          configure: (app) => {
            app.use((_request: IncomingMessage, response: ServerResponse, next: () => void) => {
              response.setHeader('X-Request-Id', 'r1');
              response.setHeader('Set-Cookie', 'visitor=1');
              next();
            });
          },
        },
      );
    });

    it.each(paths)('leaves no part of itself behind (%s)', async (path) => {
      status = 503;
      const answer = await send(`${server.url}/${path}`, { key: path });
      expect(answer.status).toBe(503);
      expect(answer.body).toEqual(body);

      const seen = Object.fromEntries(answer.headers);
      expect(seen).toMatchObject({
        'content-type': 'application/problem+json',
        'content-length': String(body.length),
        'retry-after': '7',
      });
      for (const name of ['etag', 'location', 'x-total', 'content-disposition', 'x-recorded']) {
        expect(seen).not.toHaveProperty(name);
      }
      expect(recorder.observed.get(path)).toHaveLength(1);
    });

    it.each(paths)('does not affect headers that others have set (%s)', async (path) => {
      status = 503;
      const answer = await send(`${server.url}/${path}`, { key: path });
      expect(answer.headers.get('x-request-id')).toBe('r1');
      expect(answer.headers.getSetCookie()).toEqual(['visitor=1']);
      if (path === 'object') expect(answer.headers.get('cache-control')).toBe('private');
    });

    it.each(paths)('may be replaced by one without content (%s)', async (path) => {
      status = 204;
      const answer = await send(`${server.url}/${path}`, { key: path });
      expect(answer.status).toBe(204);
      expect(answer.text).toBe('');
      expect(answer.headers.has('content-length')).toBe(false);
    });
  });
});
