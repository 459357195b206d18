import { All, Body, Controller, Param, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Sending } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

@Controller()
@Idempotent()
class OrdersController {
  @Post('orders/:id')
  order(@Param('id') id: string, @Body() body: unknown) {
    return { execution: ++executions, id, body };
  }

  @Post('refunds/:id')
  refund(@Param('id') id: string, @Body() body: unknown) {
    return { execution: ++executions, id, body };
  }

  @All('any/:id')
  @Idempotent()
  any() {
    return { execution: ++executions };
  }
}

interface Request extends Sending {
  path: string;
}

const first: Request = { path: '/orders/7?a=1&b=2', body: '{"item":"rocket","amount":1}' };

forEachPlatform('The fingerprint of a request', (platform) => {
  describe('A retry', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [OrdersController],
        configure: (nest) => {
          // On Express, a further JSON type has to be asked for; Fastify has its own parser for it.
          if (platform.name === 'express') {
            (nest as any).useBodyParser('json', { type: ['json', 'application/*+json'] });
          } else {
            const parse = (_: unknown, body: string, done: (e: null, b: unknown) => void) =>
              done(null, JSON.parse(body));
            nest
              .getHttpAdapter()
              .getInstance()
              .addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parse);
          }
        },
      });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    async function retried(key: string, original: Request, changed: Partial<Request>) {
      const { path, ...request } = original;
      await send(app.url + path, { ...request, key });
      const { path: otherPath, ...retry } = { ...original, ...changed };
      return send(app.url + otherPath, { ...retry, key });
    }

    it.each<[string, Partial<Request>]>([
      ['in nothing', {}],
      ['in the order of members', { body: '{"amount":1,"item":"rocket"}' }],
      ['in white space', { body: ' {\n"item" :"rocket",\t"amount": 1.0 }\n' }],
      ['in how a character is escaped', { body: '{"item":"\\u0072ocket","amount":1e0}' }],
      ['in the order of the query', { path: '/orders/7?b=2&a=1' }],
      ['in a charset', { headers: { 'content-type': 'application/json; charset=utf-8' } }],
      ['in headers that say nothing about the order', { headers: { 'x-request-id': '2' } }],
    ])('is replayed if it differs %s', async (difference, changed) => {
      const retry = await retried(`same ${difference}`.replaceAll(' ', '-'), first, changed);
      expect(retry.status).toBe(201);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(executions).toBe(1);
    });

    it.each<[string, Partial<Request>]>([
      ['in the body', { body: '{"item":"rocket","amount":2}' }],
      ['in the type of a member', { body: '{"item":"rocket","amount":"1"}' }],
      ['in a further member', { body: '{"item":"rocket","amount":1,"note":null}' }],
      ['in having no body', { body: undefined }],
      ['in the query', { path: '/orders/7?a=1&b=3' }],
      ['in having no query', { path: '/orders/7' }],
      ['in a param', { path: '/orders/8?a=1&b=2' }],
      ['in the route', { path: '/refunds/7?a=1&b=2' }],
      ['in the media type', { headers: { 'content-type': 'application/merge-patch+json' } }],
    ])('is refused if it differs %s', async (difference, changed) => {
      const key = `other ${difference}`.replaceAll(' ', '-');
      const retry = await retried(key, first, changed);
      expect(retry.status).toBe(422);
      expect(retry.json()).toMatchObject({ code: 'key_reused', retryable: false });
      expect(executions).toBe(1);

      // And the refusal has changed nothing.
      const again = await retried(key, first, {});
      expect(again.status).toBe(201);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    });

    it('is refused if it differs in the method on one and the same route', async () => {
      const original: Request = { path: '/any/7', method: 'POST' };
      expect((await retried('any', original, { method: 'PUT' })).status).toBe(422);
      expect((await retried('any', original, { method: 'PATCH' })).status).toBe(422);
      expect(executions).toBe(1);
    });
  });
});
