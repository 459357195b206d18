import {
  Catch,
  Controller,
  Get,
  ValidationPipe,
  VersioningType,
  type ArgumentsHost,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { map } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { decision, get, submit } from './forms.js';
import { insertUnknown, startPageApp } from './page-app.js';

class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

@Catch()
class EveryError implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost): void {
    host.switchToHttp().getResponse().status(418).send({ error: 'wrapped' });
  }
}

@Controller('hello')
class Hello {
  @Get()
  hello(): string {
    return 'hello';
  }
}

const HEADERS: Record<string, string> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
};

forEachPlatform('The operator page in any application', (platform) => {
  describe('The operator page', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database.drop());

    it('is HTML and takes forms, whatever pipes, interceptors and filters the application has', async () => {
      const app = await startPageApp(
        platform,
        {},
        {
          database,
          controllers: [Hello],
          rawBody: true,
          configure(nest) {
            nest.useGlobalPipes(
              new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }),
            );
            nest.useGlobalInterceptors(new Envelope());
            nest.useGlobalFilters(new EveryError());
          },
        },
      );
      expect((await get(`${app.url}/hello`)).json()).toEqual({ data: 'hello' });
      const key = await insertUnknown(database);
      for (const path of ['', '/keys', `/key?id=${key.id}`, '/letters', '/key?id=0']) {
        const page = await get(`${app.page}${path}`);
        expect(page.text).toMatch(/^<!doctype html>/);
        expect(page.text).toMatch(/<\/html>\s*$/);
        for (const [name, value] of Object.entries(HEADERS)) {
          expect([path, name, page.headers.get(name)]).toEqual([path, name, value]);
        }
        expect(page.headers.get('content-security-policy')).toMatch(
          /^default-src 'none'; script-src 'self'; /,
        );
        expect(page.headers.get('content-security-policy')).not.toContain('unsafe');
      }
      expect((await get(`${app.page}/style.css`)).headers.get('content-type')).toMatch(
        /^text\/css/,
      );
      expect((await get(`${app.page}/script.js`)).headers.get('content-type')).toMatch(
        /^text\/javascript/,
      );
      const done = await submit(`${app.page}/decide`, decision(key));
      expect([done.status, done.text]).toEqual([303, '']);
      expect((await keyRow(database, key.key)).status).toBe('failed_retryable');
      await app.close();
    });

    it('has its own policy where the application sets another one', async () => {
      const app = await startPageApp(
        platform,
        {},
        {
          database,
          configure: (nest) =>
            void nest.use(
              (
                _request: unknown,
                response: { setHeader(n: string, v: string): void },
                next: () => void,
              ) => {
                response.setHeader('content-security-policy', "default-src 'self' 'unsafe-inline'");
                response.setHeader('x-request-id', '7');
                next();
              },
            ),
        },
      );
      const page = await get(app.page);
      expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
      expect(page.headers.get('x-request-id')).toBe('7');
      await app.close();
    });

    const places: [string, string, (nest: INestApplication) => unknown, string][] = [
      ['a global prefix', '/api/operator', (nest) => nest.setGlobalPrefix('api'), 'operator'],
      [
        'a path of several parts',
        '/internal/idempotency',
        () => undefined,
        '/internal/idempotency/',
      ],
      [
        'versions in the path, with a default',
        '/operator',
        (nest) => nest.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
        'operator',
      ],
    ];

    it.each(places)(
      'has links and forms that hold, with %s',
      async (_, path, configure, option) => {
        const app = await startPageApp(
          platform,
          { path: option },
          {
            database,
            configure: (nest) => void configure(nest),
          },
        );
        const key = await insertUnknown(database);
        await expectToHold(`${app.url}${path}`, key);
        await app.close();
      },
    );

    it('has links and forms that hold, with a path that RouterModule gives to the module', async () => {
      const app = await startPageApp(
        platform,
        {},
        {
          database,
          imports: [RouterModule.register([{ path: 'internal', module: IdempotencyModule }])],
        },
      );
      const key = await insertUnknown(database);
      await expectToHold(`${app.url}/internal/operator`, key);
      await app.close();
    });
  });
});

/** Follows the addresses of the page as a browser resolves them. */
async function expectToHold(page: string, key: { id: string; effectKey: string }): Promise<void> {
  for (const start of [page, `${page}/keys`, `${page}/key?id=${key.id}`, `${page}/letters`]) {
    const { text, status } = await get(start);
    expect([start, status]).toEqual([start, 200]);
    const links = [...text.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) {
      const url = new URL(link.replaceAll('&amp;', '&'), start);
      expect([link, (await get(url.href)).status]).toEqual([link, 200]);
    }
    for (const [, action] of text.matchAll(/method="post" action="([^"]+)"/g)) {
      expect(new URL(action!, start).pathname).toMatch(/\/(decide|bulk|requeue)$/);
      expect(new URL(action!, start).href.startsWith(page)).toBe(true);
    }
  }
  const done = await submit(`${page}/decide`, decision(key));
  expect(new URL(done.headers.get('location')!, `${page}/decide`).href).toBe(
    `${page}/key?id=${key.id}&done=resolve`,
  );
}
