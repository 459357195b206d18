import { gunzipSync } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { beforeAll, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import { map } from 'rxjs';
import { send, type Received } from '../support/http.js';
import { forEachPlatform, type PlatformName, type TestApp } from '../support/platforms.js';
import { KINDS, KindsOfAnswers } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

/** The kind of interceptor that wraps every body, here on demand. */
@Injectable()
class WrappingInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-wrap'] ? next.handle().pipe(map((data) => ({ data }))) : next.handle();
  }
}

async function compress(name: PlatformName, app: INestApplication): Promise<void> {
  if (name === 'express') app.use(compression({ threshold: 0 }));
  else {
    // Short bodies are compressed at once, longer ones as a stream.
    const options = { threshold: 0, syncThreshold: 64 };
    await (app as NestFastifyApplication).register(fastifyCompress, options);
  }
}

forEachPlatform('Replays', (platform) => {
  describe.each([false, true])('with compression: %s', (compressed) => {
    const recorder = new Recorder();
    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start(
        {
          controllers: [KindsOfAnswers],
          providers: [
            { provide: APP_INTERCEPTOR, useClass: WrappingInterceptor },
            recorder.interceptor(),
          ],
        },
        {
          logger: false,
          configure: async (app) => {
            if (compressed) await compress(platform.name, app);
          },
        },
      );
    });

    const wrappings = [{ wrapped: false }, { wrapped: true }];
    describe.each(wrappings)('and an outer mapping interceptor: $wrapped', ({ wrapped }) => {
      it.each(Object.keys(KINDS))('equal the first answer: %s', async (kind) => {
        const key = `${kind} ${wrapped}`;
        const ask = async (askKey?: string) => {
          const headers = {
            ...(wrapped && { 'x-wrap': 'yes' }),
            ...(compressed && { 'accept-encoding': 'gzip' }),
          };
          return part(await send(`${server.url}/${kind}`, { key: askKey, headers }), recorder);
        };

        const withoutUs = await ask();
        const first = await ask(key);
        const replay = await ask(key);

        expect(first.recorded).toBe('yes');
        expect(replay.replayed).toBe('true');
        expect(first.answer).toEqual(withoutUs.answer);
        expect(replay.answer).toEqual(first.answer);
        expect(recorder.executions.get(key)).toBe(1);

        const { status, body } = KINDS[kind]!;
        expect(first.answer.status).toBe(status);
        if (body !== undefined && !wrapped) expect(first.answer.body.toString()).toBe(body);
        if (kind === 'object') {
          expect(replay.answer.headers).toMatchObject({ 'x-total': '3', 'content-language': 'de' });
        }
      });
    });

    it('are compressed only on request', async () => {
      const headers = { 'accept-encoding': 'gzip' };
      for (const kind of ['object', 'file']) {
        for (const time of ['first', 'replay']) {
          const answer = await send(`${server.url}/${kind}`, { key: `gzip ${kind}`, headers });
          const encoding = answer.headers.get('content-encoding');
          expect({ kind, time, encoding }).toEqual({
            kind,
            time,
            encoding: compressed ? 'gzip' : null,
          });
        }
      }
    });

    it('never contain a cookie', async () => {
      const first = await send(`${server.url}/web-response`, { key: 'cookie' });
      const replay = await send(`${server.url}/web-response`, { key: 'cookie' });
      expect(first.headers.getSetCookie()).toEqual(['session=secret']);
      expect(replay.headers.getSetCookie()).toEqual([]);
    });
  });
});

/** What has to be equal: the status, the headers worth keeping, the bytes before compression. */
function part(received: Received, recorder: Recorder) {
  const headers: Record<string, string> = {};
  for (const name of recorder.headerNames) {
    const value = received.headers.get(name);
    if (value !== null && name !== 'content-encoding') headers[name] = value;
  }
  // A 204 may carry the header without a body.
  const gzipped = received.headers.get('content-encoding') === 'gzip' && received.body.length > 0;
  const body = gzipped ? gunzipSync(received.body) : received.body;
  return {
    answer: { status: received.status, headers, body },
    recorded: received.headers.get('x-recorded'),
    replayed: received.headers.get('idempotent-replayed'),
  };
}
