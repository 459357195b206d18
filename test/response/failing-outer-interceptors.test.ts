import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import {
  Controller,
  Injectable,
  Post,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { beforeAll, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import { mergeMap } from 'rxjs';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { until } from '../support/until.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

/** Reads a member of what the handler returned, which a replay does not have. */
@Injectable()
class CarelessInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    const raw = rawOf(context.switchToHttp().getResponse<AnyResponse>());
    return next.handle().pipe(
      mergeMap(async (order: { id: number }) => {
        if (request.headers['x-fail'] === 'midway') await until(() => raw.headersSent);
        return { id: order.id };
      }),
    );
  }
}

@Controller()
class Orders {
  @Post('orders')
  create() {
    return { id: 1 };
  }
}

forEachPlatform('Failing outer interceptors', (platform) => {
  describe('A replay on which an outer interceptor fails', () => {
    const recorder = new Recorder();
    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start(
        {
          controllers: [Orders],
          providers: [
            { provide: APP_INTERCEPTOR, useClass: CarelessInterceptor },
            recorder.interceptor(),
          ],
        },
        {
          logger: false,
          configure: async (app) => {
            if (platform.name === 'express') app.use(compression());
            else await (app as NestFastifyApplication).register(fastifyCompress);
          },
        },
      );
    });

    // Large enough to be still on its way when the error comes.
    const body = Buffer.from(randomBytes(4_000_000).toString('hex'));
    it.each(['at once', 'midway'])('still reaches the client (%s)', async (moment) => {
      const answer = { status: 200, headers: { 'content-type': 'text/plain' }, body };
      recorder.answers.set('large', answer);
      const headers = { 'x-fail': moment, 'accept-encoding': 'gzip' };
      const replay = await send(`${server.url}/orders`, { key: 'large', headers });
      expect(replay.status).toBe(200);
      expect(replay.headers.get('content-encoding')).toBe('gzip');
      expect(gunzipSync(replay.body).equals(body)).toBe(true);
    });
  });
});
