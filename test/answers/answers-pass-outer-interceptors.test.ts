import {
  Catch,
  Controller,
  Header,
  HttpCode,
  Inject,
  Injectable,
  Post,
  Redirect,
  Render,
  Res,
  Scope,
  StreamableFile,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, REQUEST } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import {
  catchError,
  defaultIfEmpty,
  finalize,
  firstValueFrom,
  lastValueFrom,
  map,
  of,
  switchMap,
  tap,
  timeout,
  toArray,
  type Observable,
} from 'rxjs';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform, type PlatformName } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

/** What the interceptor around ours makes of an answer. */
let outer: (answer: Observable<any>) => Observable<unknown> | Promise<Observable<unknown>>;
/** What it saw. */
let values: unknown[] = [];
let ends = 0;

class OuterInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return outer(next.handle());
  }
}

/** Made for each request, and so added to the others late. */
@Injectable({ scope: Scope.REQUEST })
class RequestScopedInterceptor implements NestInterceptor {
  constructor(@Inject(REQUEST) readonly request: unknown) {}

  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(
      map((data: unknown) => {
        values.push(data);
        return data;
      }),
    );
  }
}

const filtered: unknown[] = [];

@Catch()
class EveryFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    filtered.push(error);
    host.switchToHttp().getResponse<AnyResponse>().status(500).send('filtered');
  }
}

interface AnyResponse {
  status(code: number): AnyResponse;
  send(body: unknown): void;
}

@Controller()
@Idempotent()
class Answers {
  @Post('object')
  object() {
    return { order: { id: 7 } };
  }

  @Post('no-content')
  @HttpCode(204)
  noContent() {}

  @Post('header')
  @Header('content-type', 'text/csv')
  header() {
    return 'id\n7\n';
  }

  @Post('response')
  response(@Res() response: AnyResponse) {
    response.status(202).send({ order: { id: 7 } });
  }

  @Post('redirect')
  @Redirect('/orders/7', 303)
  redirect() {
    return { url: '/orders/8', statusCode: 303 };
  }

  @Post('render')
  @Render('order')
  render() {
    return { id: 7 };
  }

  @Post('file')
  file() {
    return new StreamableFile(Buffer.from('seven'), { type: 'text/plain' });
  }
}

@Controller('scoped')
@UseInterceptors(RequestScopedInterceptor)
class ScopedAnswers {
  @Post()
  @Idempotent()
  object() {
    return { order: { id: 7 } };
  }
}

/** An outer interceptor of a route, and of a class, where no global one is. */
@Controller('route')
class OuterOfRoute {
  @Post()
  @Idempotent()
  @UseInterceptors(OuterInterceptor)
  object() {
    return { order: { id: 7 } };
  }
}

@Controller('class')
@UseInterceptors(OuterInterceptor)
class OuterOfClass {
  @Post()
  @Idempotent()
  object() {
    return { order: { id: 7 } };
  }
}

const KINDS = ['object', 'no-content', 'header', 'response', 'redirect', 'render', 'file'];

const OUTER: [string, typeof outer][] = [
  ['map', (answer) => answer.pipe(map((data) => data.order.id))],
  ['tap', (answer) => answer.pipe(tap((data: any) => values.push(data.order.id)))],
  ['catchError', (answer) => answer.pipe(catchError((error) => of({ caught: String(error) })))],
  ['defaultIfEmpty', (answer) => answer.pipe(defaultIfEmpty({ nothing: true }))],
  ['toArray', (answer) => answer.pipe(toArray())],
  ['timeout', (answer) => answer.pipe(timeout(60_000))],
  ['switchMap', (answer) => answer.pipe(switchMap(async (data) => data.order))],
  ['await lastValueFrom', async (answer) => of(await lastValueFrom(answer))],
  ['await firstValueFrom', async (answer) => of((await firstValueFrom(answer)).order)],
  ['finalize', (answer) => answer.pipe(finalize(() => (ends += 1)))],
];

function renderTemplates(app: INestApplication, platform: PlatformName): void {
  const page = (data: { id: number }) => `<p>${data.id}</p>`;
  if (platform === 'express') {
    const express = app.getHttpAdapter().getInstance();
    express.engine('html', (_path: string, data: { id: number }, done: Function) =>
      done(null, page(data)),
    );
    express.set('view engine', 'html');
    express.set(
      'view',
      class {
        name = 'order';
        path = 'order';
        render(data: { id: number }, done: Function) {
          done(null, page(data));
        }
      },
    );
  } else {
    app
      .getHttpAdapter()
      .getInstance()
      .decorateReply('view', function (this: any, _template: string, data: { id: number }) {
        return this.type('text/html').send(page(data));
      });
  }
}

forEachPlatform('Answers of the library', (platform) => {
  const logger = recordingLogger();
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [Answers, ScopedAnswers],
      providers: [
        { provide: APP_INTERCEPTOR, useClass: OuterInterceptor },
        { provide: APP_FILTER, useClass: EveryFilter },
      ],
      logger,
      configure: (nest) => {
        renderTemplates(nest, platform.name);
        // Global ones that are added by hand come last, and are outside as well.
        nest.useGlobalInterceptors(new OuterInterceptor());
      },
    });
  });
  beforeEach(() => {
    outer = (answer) => answer;
    values = [];
    ends = 0;
    filtered.length = 0;
    logger.errors.length = 0;
  });
  afterAll(() => app.close());

  function expectQuiet(): void {
    expect(filtered).toEqual([]);
    expect(logger.errors).toEqual([]);
  }

  describe.each(KINDS)('The replay of %s', (kind) => {
    it.each(OUTER)('passes %s without a value and without an error', async (name, behaviour) => {
      const key = `${kind}-${name.replaceAll(' ', '-')}`;
      const first = await send(`${app.url}/${kind}`, { key });
      expectQuiet();

      outer = behaviour;
      const replay = await send(`${app.url}/${kind}`, { key });
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(replay.status).toBe(first.status);
      expect(replay.body.equals(first.body)).toBe(true);
      for (const header of ['content-type', 'location']) {
        expect(replay.headers.get(header)).toBe(first.headers.get(header));
      }
      expect(values).toEqual([]);
      expectQuiet();
    });
  });

  describe('A refusal', () => {
    it.each(OUTER)('passes %s without a value and without an error', async (_name, behaviour) => {
      outer = behaviour;
      const refusal = await send(`${app.url}/object`);
      expect(refusal.status).toBe(400);
      expect(refusal.json()).toMatchObject({ code: 'key_missing' });
      expect(values).toEqual([]);
      expectQuiet();
    });
  });

  it('show the end of a replay to outer interceptors', async () => {
    await send(`${app.url}/object`, { key: 'ends' });
    outer = (answer) => answer.pipe(tap({ complete: () => (ends += 1) }));
    await send(`${app.url}/object`, { key: 'ends' });
    expect(ends).toBe(2);
  });

  it('give no value to an outer interceptor of a request-scoped class', async () => {
    await send(`${app.url}/scoped`, { key: 'scoped' });
    expect(values).toEqual([{ order: { id: 7 } }]);
    const replay = await send(`${app.url}/scoped`, { key: 'scoped' });
    expect(replay.json()).toEqual({ order: { id: 7 } });
    expect(values).toHaveLength(1);
    expectQuiet();
  });

  it('do not hide an error that an outer interceptor throws for another reason', async () => {
    await send(`${app.url}/object`, { key: 'broken' });
    outer = (answer) =>
      answer.pipe(
        toArray(),
        map(() => {
          throw new Error('broken');
        }),
      );
    const replay = await send(`${app.url}/object`, { key: 'broken' });
    expect(replay.json()).toEqual({ order: { id: 7 } });
    expect(filtered.map(String)).toEqual(['Error: broken']);
  });

  describe('Without a global interceptor', () => {
    let own: IdempotentApp;
    beforeAll(async () => {
      own = await startIdempotentApp(platform, {
        controllers: [OuterOfRoute, OuterOfClass],
        providers: [{ provide: APP_FILTER, useClass: EveryFilter }],
        logger,
      });
    });
    afterAll(() => own.close());

    it.each(['route', 'class'])('give no value to an outer interceptor of a %s', async (path) => {
      outer = (answer) => answer.pipe(map((data) => data.order.id));
      const first = await send(`${own.url}/${path}`, { key: path });
      const replay = await send(`${own.url}/${path}`, { key: path });
      expect(first.text).toBe('7');
      expect(replay.text).toBe('7');
      expect((await send(`${own.url}/${path}`)).json()).toMatchObject({ code: 'key_missing' });
      expectQuiet();
    });
  });
});
