import {
  Controller,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { map } from 'rxjs';
import { KINDS, KindsOfAnswers } from '../response/kinds-of-answers.controller.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

@Controller('answers')
@Idempotent({ required: false, onServerError: 'store' })
class Answers extends KindsOfAnswers {}

/** The kind of interceptor that wraps every body, here on demand. It is outside of ours. */
class WrappingInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (!headers['x-wrap']) return next.handle();
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

const HEADERS = ['content-type', 'content-language', 'location', 'etag', 'last-modified'];

forEachPlatform('Stored answers', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [Answers],
      providers: [{ provide: APP_INTERCEPTOR, useClass: WrappingInterceptor }],
      logger: false,
    });
  });
  afterAll(() => app.close());

  describe.each([{ wrapped: false }, { wrapped: true }])(
    'wrapped by an outer interceptor: $wrapped',
    ({ wrapped }) => {
      const headers: Record<string, string> = wrapped ? { 'x-wrap': 'yes' } : {};

      it.each(Object.keys(KINDS))('are replayed as they were sent: %s', async (kind) => {
        const key = `${kind}-${wrapped}`;
        const url = `${app.url}/answers/${kind}`;
        const withoutKey = await send(url, { headers });
        const first = await send(url, { key, headers });
        const replay = await send(url, { key, headers });

        expect(first.status).toBe(KINDS[kind]!.status);
        expect(first.headers.get('idempotent-replayed')).toBeNull();
        expect(replay.headers.get('idempotent-replayed')).toBe('true');
        for (const answer of [first, replay]) {
          expect(answer.status).toBe(withoutKey.status);
          expect(answer.body).toEqual(withoutKey.body);
          for (const name of HEADERS) {
            expect([name, answer.headers.get(name)]).toEqual([name, withoutKey.headers.get(name)]);
          }
        }
      });
    },
  );
});
