import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const FORM = 'application/x-www-form-urlencoded';

const same: [string, string | Buffer, string | Buffer][] = [
  [FORM, 'item=rocket&amount=1', 'amount=1&item=rocket'],
  [FORM, 'item=a+rocket', 'item=a%20rocket'],
  ['text/plain', 'a rocket', 'a rocket'],
  ['text/plain', '', ''],
  ['application/octet-stream', Buffer.from([0, 255]), Buffer.from([0, 255])],
];
const different: [string, string | Buffer, string | Buffer][] = [
  [FORM, 'item=rocket&amount=1', 'item=rocket&amount=2'],
  [FORM, 'item=a&item=b', 'item=b&item=a'],
  ['text/plain', 'a rocket', 'a  rocket'],
  ['text/plain', 'ä', 'a\u0308'],
  ['text/plain', '{"a":1}', '{"a":1} '],
  ['application/octet-stream', Buffer.from([0, 255]), Buffer.from([0, 254])],
];

forEachPlatform('The fingerprint of a body', (platform) => {
  describe('of the type', () => {
    const routes = new PolicyRoutes({ orders: {} });
    let app: IdempotentApp;
    let count = 0;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [routes.controller],
        configure: (nest) => {
          if (platform.name === 'express') {
            (nest as NestExpressApplication).useBodyParser('text').useBodyParser('raw');
          } else {
            const pass = (_: unknown, body: Buffer, done: (e: null, b: Buffer) => void) =>
              done(null, body);
            const fastify = nest.getHttpAdapter().getInstance();
            fastify.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, pass);
          }
        },
      });
    });
    afterAll(() => app.close());

    async function sendTwice(type: string, first: string | Buffer, second: string | Buffer) {
      routes.answers((execution) => ({ execution }));
      const key = `${platform.name}-${(count += 1)}`;
      const headers = { 'content-type': type };
      expect((await send(`${app.url}/orders`, { key, headers, body: first })).status).toBe(201);
      const retry = await send(`${app.url}/orders`, { key, headers, body: second });
      expect(routes.executions).toBe(1);
      return retry;
    }

    it.each(same)('%s is the same for %j and %j', async (type, first, second) => {
      const retry = await sendTwice(type, first, second);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
    });

    it.each(different)('%s differs for %j and %j', async (type, first, second) => {
      expect((await sendTwice(type, first, second)).status).toBe(422);
    });
  });
});
