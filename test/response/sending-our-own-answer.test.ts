import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Controller,
  Header,
  HttpCode,
  Injectable,
  Post,
  Redirect,
  Render,
  Res,
  StreamableFile,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type LoggerService,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { map } from 'rxjs';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

let executions = 0;

@Controller()
class Handlers {
  @Post('object')
  @HttpCode(202)
  @Header('Content-Type', 'text/csv')
  @Header('ETag', '"of the route"')
  @Header('Location', '/of-the-route')
  @Header('X-Route', 'kept')
  object() {
    executions += 1;
    return {};
  }

  @Post('redirect')
  @Redirect('/elsewhere', 302)
  redirect() {
    executions += 1;
  }

  @Post('render')
  @Render('page.txt')
  render() {
    executions += 1;
    return { name: 'Ada' };
  }

  @Post('res')
  res(@Res() response: AnyResponse) {
    executions += 1;
    response.send();
  }
}

/** What other interceptors do to a response on its way out, here all of it. */
@Injectable()
class BusyInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    const response = context.switchToHttp().getResponse<AnyResponse>();
    const busy = request.headers['x-busy'];
    return next.handle().pipe(
      map((value: unknown) => {
        if (busy === 'sets headers') response.status(299).header('X-Late', 'yes');
        if (busy === 'sends') response.status(299).send('another answer');
        if (busy === 'ends') rawOf(response).end('another end');
        if (busy === 'returns a file') return new StreamableFile(Buffer.from('another file'));
        if (busy === 'returns an object') return { another: 'object' };
        return value;
      }),
    );
  }
}

const BUSY = ['no', 'sets headers', 'sends', 'ends', 'returns a file', 'returns an object'];
const PATHS = ['object', 'redirect', 'render', 'res'];

class SilentLogger implements LoggerService {
  readonly complaints: unknown[] = [];
  log(): void {}
  warn(...message: unknown[]): void {
    this.complaints.push(message);
  }
  error(...message: unknown[]): void {
    this.complaints.push(message);
  }
}

forEachPlatform('Answers of the library', (platform) => {
  describe('An answer of the library', () => {
    const recorder = new Recorder();
    const logger = new SilentLogger();
    let server: TestApp;
    let views: string;
    beforeAll(async () => {
      views = await mkdtemp(join(tmpdir(), 'views-'));
      await writeFile(join(views, 'page.txt'), '');
      server = await platform.start(
        {
          controllers: [Handlers],
          providers: [
            { provide: APP_INTERCEPTOR, useClass: BusyInterceptor },
            recorder.interceptor(),
          ],
        },
        { logger, configure: addViews },
      );
    });
    afterAll(() => rm(views, { recursive: true }));

    function addViews(app: INestApplication): void {
      const page = ({ name }: { name?: string }) => `Hello ${name}`;
      if (platform.name === 'express') {
        const express = app as NestExpressApplication;
        express.setBaseViewsDir(views);
        express.engine(
          'txt',
          (_path: string, data: object, done: (e: null, text: string) => void) =>
            done(null, page(data)),
        );
      } else {
        const fastify = app.getHttpAdapter().getInstance();
        fastify.decorateReply('view', function (this: AnyResponse, _name: string, data: object) {
          return this.send(page(data));
        });
      }
    }

    it.each(PATHS.flatMap((path) => BUSY.map((busy) => [path, busy])))(
      'is the only one on %s (%s)',
      async (path, busy) => {
        const key = `${path} ${busy}`;
        const body = Buffer.from('{"recorded":true}');
        const headers = { 'content-type': 'application/json', location: '/recorded' };
        recorder.answers.set(key, { status: 226, headers, body });

        executions = 0;
        logger.complaints.length = 0;
        const answer = await send(`${server.url}/${path}`, { key, headers: { 'x-busy': busy! } });
        expect(answer.status).toBe(226);
        expect(answer.body).toEqual(body);
        expect(Object.fromEntries(answer.headers)).toMatchObject({
          ...headers,
          'content-length': String(body.length),
          'idempotent-replayed': 'true',
        });
        expect(answer.headers.has('etag')).toBe(false);
        if (path === 'object') expect(answer.headers.get('x-route')).toBe('kept');
        expect(executions).toBe(0);
        expect(logger.complaints).toEqual([]);
      },
    );

    it.each(PATHS.flatMap((path) => [204, 304].map((status) => [path, status] as const)))(
      'has no content on %s if its status says so (%i)',
      async (path, status) => {
        const key = `${path} ${status}`;
        recorder.answers.set(key, { status, headers: { etag: '"1"' }, body: Buffer.alloc(0) });
        const answer = await send(`${server.url}/${path}`, { key });
        expect(answer.status).toBe(status);
        expect(answer.text).toBe('');
        expect(answer.headers.get('etag')).toBe('"1"');
        expect(answer.headers.has('content-length')).toBe(false);
        expect(answer.headers.has('content-type')).toBe(false);
      },
    );

    it('can be empty with any other status', async () => {
      recorder.answers.set('empty', { status: 200, headers: {}, body: Buffer.alloc(0) });
      const answer = await send(`${server.url}/object`, { key: 'empty' });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-length')).toBe('0');
      expect(answer.headers.has('content-type')).toBe(false);
    });

    it('keeps the bytes of a body that the handler had compressed itself', async () => {
      const headers = { 'content-type': 'text/plain', 'content-encoding': 'br' };
      const body = Buffer.from([11, 2, 128, 97, 98, 99, 3]);
      recorder.answers.set('encoded', { status: 200, headers, body });
      const answer = await send(`${server.url}/object`, { key: 'encoded' });
      expect(answer.headers.get('content-encoding')).toBe('br');
      expect(answer.body).toEqual(body);
    });

    it('is sent on rendered routes as the first time', async () => {
      const first = await send(`${server.url}/render`, { key: 'rendered' });
      const replay = await send(`${server.url}/render`, { key: 'rendered' });
      expect(first.text).toBe('Hello Ada');
      expect(replay.text).toBe('Hello Ada');
      expect(replay.headers.get('content-type')).toBe(first.headers.get('content-type'));
    });
  });
});
