import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { map, switchMap, tap, type Observable } from 'rxjs';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ orders: {} });

/** What the interceptor around ours makes of an answer. */
let outer: (answer: Observable<any>) => Observable<unknown>;

class OuterInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return outer(next.handle());
  }
}

const seen: unknown[] = [];

const OUTER: [string, typeof outer, string][] = [
  ['wraps it', (answer) => answer.pipe(map((data) => ({ data }))), '{"data":{"order":{"id":7}}}'],
  ['picks a part of it', (answer) => answer.pipe(map((data) => data.order.id)), '7'],
  ['looks at it', (answer) => answer.pipe(tap((data) => seen.push(data))), '{"order":{"id":7}}'],
  ['replaces it', (answer) => answer.pipe(map(() => 'done')), 'done'],
  [
    'takes its time',
    (answer) =>
      answer.pipe(
        switchMap(async (data: unknown) => {
          await new Promise(setImmediate);
          return data;
        }),
      ),
    '{"order":{"id":7}}',
  ],
];

forEachPlatform('Outer interceptors', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      providers: [{ provide: APP_INTERCEPTOR, useClass: OuterInterceptor }],
      logger: false,
    });
  });
  afterAll(() => app.close());

  describe('An outer interceptor that', () => {
    it.each(OUTER)(
      '%s changes the first answer only, not its replay',
      async (name, behaviour, text) => {
        outer = behaviour;
        routes.answers(() => ({ order: { id: 7 } }));
        const key = name.replaceAll(' ', '-');
        for (const replayed of [null, 'true']) {
          const answer = await send(`${app.url}/orders`, { key });
          expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
          expect(answer.status).toBe(201);
          expect(answer.text).toBe(text);
        }
        expect(routes.executions).toBe(1);
      },
    );
  });
});
