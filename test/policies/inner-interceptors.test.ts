import {
  Controller,
  ForbiddenException,
  HttpCode,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { catchError, map, of, throwError, type Observable } from 'rxjs';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { writtenRow } from '../support/written-row.js';

/** What the interceptor around the handler does, inside of ours. */
let inner: (next: CallHandler) => Observable<unknown>;

class InnerInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return inner(next);
  }
}

let executions = 0;
let fails = false;

@Controller()
class OrdersController {
  @Post('orders')
  @HttpCode(200)
  @UseInterceptors(InnerInterceptor)
  @Idempotent()
  create() {
    executions += 1;
    if (fails) throw new Error('a bug');
    return { executions };
  }
}

forEachPlatform('Inner interceptors', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    executions = 0;
    fails = false;
  });

  const ask = (key: string) => send(`${app.url}/orders`, { key });

  describe('An inner interceptor', () => {
    it.each<[string, number, typeof inner]>([
      ['answers', 200, () => of({ from: 'a cache' })],
      ['refuses', 403, () => throwError(() => new ForbiddenException())],
      [
        'throws',
        403,
        () => {
          throw new ForbiddenException();
        },
      ],
    ])('that %s without the handler gives the key back', async (name, status, behaviour) => {
      inner = behaviour;
      const first = await ask(name);
      expect(first.status).toBe(status);
      expect(first.headers.get('idempotency-key-expires')).toBeNull();
      expect(await writtenRow(app.database, name)).toBeUndefined();

      inner = (next) => next.handle();
      expect((await ask(name)).json()).toEqual({ executions: 1 });
      expect((await ask(name)).json()).toEqual({ executions: 1 });
    });

    it('that turns an error into an answer decides about it', async () => {
      fails = true;
      inner = (next) => next.handle().pipe(catchError(() => of({ fallback: true })));
      for (let time = 1; time <= 2; time++) {
        expect((await ask('fallback')).json()).toEqual({ fallback: true });
      }
      expect(executions).toBe(1);
    });

    it('that fails after the handler leaves the key open', async () => {
      inner = (next) =>
        next.handle().pipe(
          map(() => {
            throw new Error('a bug in the interceptor');
          }),
        );
      expect((await ask('late')).status).toBe(500);
      expect(await keyRow(app.database, 'late')).toMatchObject({
        status: 'failed_retryable',
        last_error_code: 'http_500',
      });
      expect(executions).toBe(1);
    });
  });
});
