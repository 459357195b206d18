import {
  Catch,
  ConflictException,
  HttpException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ orders: {} });

class NoSuchRocket extends Error {}
class Unspeakable extends Error {}

let filtered = 0;

/** A domain error, which a filter turns into HTTP after a query. */
@Catch(NoSuchRocket)
class NoSuchRocketFilter implements ExceptionFilter {
  async catch(_error: NoSuchRocket, host: ArgumentsHost): Promise<void> {
    await new Promise(setImmediate);
    filtered += 1;
    const response = host.switchToHttp().getResponse<AnyResponse>();
    response
      .status(404)
      .header('content-language', 'de')
      .send({ fehler: 'keine Rakete', filtered });
  }
}

@Catch(Unspeakable)
class FailingFilter implements ExceptionFilter {
  catch(): void {
    throw new Error('a bug in the filter');
  }
}

interface AnyResponse {
  status(code: number): AnyResponse;
  header(name: string, value: string): AnyResponse;
  send(body: unknown): void;
}

const EXCEPTIONS: [string, () => Error, number, string][] = [
  [
    'an HttpException with a message',
    () => new ConflictException('Schon vergeben – sorry'),
    409,
    '{"message":"Schon vergeben – sorry","error":"Conflict","statusCode":409}',
  ],
  [
    'an HttpException with a body of its own',
    () => new HttpException({ zebra: 1, apple: ['ä', null] }, 402),
    402,
    '{"zebra":1,"apple":["ä",null]}',
  ],
  [
    'an error that a filter maps',
    () => new NoSuchRocket(),
    404,
    '{"fehler":"keine Rakete","filtered":1}',
  ],
];

forEachPlatform('Exceptions', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      providers: [NoSuchRocketFilter, FailingFilter].map((useClass) => ({
        provide: APP_FILTER,
        useClass,
      })),
      logger: false,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    filtered = 0;
  });

  it.each(EXCEPTIONS)(
    'are replayed as they were answered: %s',
    async (name, exception, status, body) => {
      const key = name.replaceAll(' ', '-');
      routes.answers(() => {
        throw exception();
      });
      const first = await send(`${app.url}/orders`, { key });
      const replay = await send(`${app.url}/orders`, { key });
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      for (const answer of [first, replay]) {
        expect(answer.status).toBe(status);
        expect(answer.text).toBe(body);
      }
      for (const header of ['content-type', 'content-language', 'etag']) {
        expect(replay.headers.get(header)).toBe(first.headers.get(header));
      }
      expect(routes.executions).toBe(1);
    },
  );

  it('let a retry run again if the exception filter itself failed', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new Unspeakable();
      return { execution };
    });
    expect((await send(`${app.url}/orders`, { key: 'unspeakable' })).status).toBe(500);
    const retry = await send(`${app.url}/orders`, { key: 'unspeakable' });
    expect([retry.status, retry.json()]).toEqual([201, { execution: 2 }]);
  });
});
