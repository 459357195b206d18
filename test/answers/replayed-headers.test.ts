import { Controller, Post, Res, type INestApplication } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

/** What belongs to one caller, one connection or one moment, as a handler may set it. */
const PRIVATE = {
  'set-cookie': 'session=secret',
  'x-ratelimit-remaining': '41',
  'ratelimit-remaining': '41',
  'retry-after': '7',
  'x-trace': 'trace-of-the-first',
  'cache-control': 'private',
  'www-authenticate': 'Basic',
};

const KEPT = {
  'content-type': 'application/vnd.order+json',
  'content-language': 'de',
  'content-location': '/orders/7.json',
  location: '/orders/7',
  etag: '"v7"',
  'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT',
};

const ASKED_FOR = {
  'x-total': '3',
  // Two header lines, which a comma inside a link forbids to join.
  link: ['</orders?page=2>; rel="next"', '</a,b>; rel="related"'],
};

@Controller()
class OrdersController {
  @Post('orders')
  @Idempotent()
  create(
    @Res({ passthrough: true }) response: { header(name: string, value: string | string[]): void },
  ) {
    for (const [name, value] of Object.entries({ ...PRIVATE, ...KEPT, ...ASKED_FOR })) {
      response.header(name, value);
    }
    return '{"order":7}';
  }
}

/** Headers that middleware sets on every answer, with a value of its own for each. */
function surround(app: INestApplication): void {
  let requests = 0;
  app.use(
    (_: unknown, response: { setHeader(name: string, value: string): void }, next: () => void) => {
      requests += 1;
      response.setHeader('x-request-id', `request-${requests}`);
      next();
    },
  );
  app.enableCors({ origin: ['https://a.example', 'https://b.example'], credentials: true });
}

forEachPlatform('Replayed headers', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [OrdersController],
      idempotency: { replayHeaders: ['X-Total', 'link'] },
      configure: surround,
    });
  });
  afterAll(() => app.close());

  describe('A replay', () => {
    const ask = (key: string, origin = 'https://a.example') =>
      send(`${app.url}/orders`, { key, headers: { origin } });

    it('has the headers that describe the answer, and those of replayHeaders', async () => {
      const first = await ask('kept');
      const replay = await ask('kept');
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      for (const answer of [first, replay]) {
        for (const [name, value] of Object.entries({ ...KEPT, ...ASKED_FOR })) {
          // A framework may add the charset.
          const got = answer.headers.get(name)?.replace('; charset=utf-8', '');
          expect([name, got]).toEqual([name, [value].flat().join(', ')]);
        }
      }
      expect(replay.headers.get('content-type')).toBe(first.headers.get('content-type'));
    });

    it('has none of the headers that were meant for the first caller only', async () => {
      const first = await ask('private');
      const replay = await ask('private');
      for (const [name, value] of Object.entries(PRIVATE)) {
        expect([name, first.headers.get(name)]).toEqual([name, value]);
        expect([name, replay.headers.get(name)]).toEqual([name, null]);
      }
      const row = await keyRow(app.database, 'private');
      expect(Object.keys(row.response_headers).toSorted()).toEqual(
        Object.keys({ ...KEPT, ...ASKED_FOR }).toSorted(),
      );
      expect(row.response_headers).toMatchObject(ASKED_FOR);
    });

    it('has the request id and the CORS headers of its own request', async () => {
      const first = await ask('surroundings', 'https://a.example');
      const replay = await ask('surroundings', 'https://b.example');
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(first.headers.get('access-control-allow-origin')).toBe('https://a.example');
      expect(replay.headers.get('access-control-allow-origin')).toBe('https://b.example');
      expect(replay.headers.get('x-request-id')).toMatch(/^request-\d+$/);
      expect(replay.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    });
  });
});
