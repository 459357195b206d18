import fastifyCompress from '@fastify/compress';
import {
  Injectable,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import compression from 'compression';
import { map } from 'rxjs';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform, type PlatformName } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { listenTo } from './event-client.js';
import { Provider, Rides, ridesController } from './rides.js';

@Injectable()
class ApiKeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-api-key'] === 'secret';
  }
}

/** Puts every answer into an envelope. */
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((data: { status?: unknown }) => ({ data, is: data.status })));
  }
}

async function configure(name: PlatformName, app: INestApplication): Promise<void> {
  app.setGlobalPrefix('api');
  app.useGlobalInterceptors(new Envelope());
  app.enableCors({ origin: 'https://shop.example' });
  if (name === 'express') app.use(compression({ threshold: 0 }));
  else await (app as NestFastifyApplication).register(fastifyCompress, { threshold: 0 });
}

const CALLER = { 'x-api-key': 'secret', 'accept-encoding': 'gzip', origin: 'https://shop.example' };

forEachPlatform(
  'The status resource of an application with prefix, guard, envelope and compression',
  (platform) => {
    const logger = recordingLogger();
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [ridesController({ run: 'background' })],
        providers: [Rides, { provide: Provider, useValue: new Provider() }],
        idempotency: { statusPath: 'operations', statusGuards: [ApiKeyGuard] } as object,
        logger,
        configure: (nest) => configure(platform.name, nest),
      });
      await app.database.query('CREATE TABLE rides (id serial, target text)');
    });
    afterAll(() => app.close());

    async function accept(key: string): Promise<string> {
      await send(`${app.url}/api/rides`, { key, body: { target: 'mars' } });
      const { id } = await keyRow(app.database, key);
      return `${app.url}/api/operations/${id}`;
    }

    it('sends events as they are, at once, with the headers of the surroundings', async () => {
      const url = await accept('events');
      expect((await listenTo(url, { 'x-api-key': 'wrong' })).status).toBe(403);
      const client = await listenTo(url, CALLER);
      expect(await client.next()).toMatchObject({ event: 'progress', data: { status: 'pending' } });
      expect(client.headers['content-encoding']).toBeUndefined();
      expect(client.headers['access-control-allow-origin']).toBe('https://shop.example');
      await runJob(app, 'completer');
      expect(await client.told('performed')).toMatchObject({ event: 'done' });
      await client.ended;
      expect([...logger.errors, ...logger.warnings]).toEqual([]);
    });

    it('tells a client that polls when to ask again, and answers 304 while nothing has changed', async () => {
      const url = await accept('polled');
      const headers = { 'x-api-key': 'secret' };
      const first = await send(url, { method: 'GET', headers });
      expect(first.json()).toMatchObject({ is: 'pending', data: { status: 'pending' } });
      expect(first.headers.get('retry-after')).toBe('2');
      expect(first.headers.get('cache-control')).toBe('private, no-cache');
      const etag = first.headers.get('etag')!;
      const ask = () =>
        send(url, { method: 'GET', headers: { ...headers, 'if-none-match': etag } });
      const same = await ask();
      expect([same.status, same.text, same.headers.get('retry-after')]).toEqual([304, '', '2']);

      await runJob(app, 'completer');
      const done = await ask();
      expect(done.status).toBe(200);
      expect(done.json()).toMatchObject({ is: 'performed', data: { done: true } });
      expect(done.headers.get('etag')).not.toBe(etag);
      expect(done.headers.get('retry-after')).toBeNull();
    });
  },
);
