import { BadRequestException, type ExecutionContext } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IdempotencyPolicy } from 'nestjs-atomic-idempotency';
import { send, type Sending } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

interface OrderRequest {
  body: { item: string; sentAt?: number };
  rawBody: Buffer;
}

const fingerprints: Record<string, IdempotencyPolicy['fingerprint']> = {
  withoutTimestamp: ({ body }: OrderRequest) => ({ ...body, sentAt: undefined }),
  text: ({ body }: OrderRequest) => body.item,
  later: async ({ body }: OrderRequest) => body.item,
  rawBytes: ({ rawBody }: OrderRequest) => rawBody,
  nothing: () => undefined,
  fromContext: (_, context: ExecutionContext) =>
    context.switchToHttp().getRequest<OrderRequest>().body.item,
  refusing: () => {
    throw new BadRequestException('no item');
  },
  notJson: () => 1n,
};

type Request = Sending & { query?: string };
const order: Request = { body: '{"item":"rocket","sentAt":1}' };

forEachPlatform('The fingerprint option', (platform) => {
  describe('With a function', () => {
    const routes = new PolicyRoutes(
      Object.fromEntries(
        Object.entries(fingerprints).map(([path, f]) => [path, { fingerprint: f }]),
      ),
    );
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [routes.controller],
        rawBody: true,
      });
    });
    afterAll(() => app.close());

    const post = (path: string, key: string, { query = '', ...request }: Request) =>
      send(`${app.url}/${path}${query}`, { ...request, key });

    it.each<[string, string, Request]>([
      ['withoutTimestamp', 'another time stamp', { body: '{"sentAt":2,"item":"rocket"}' }],
      ['withoutTimestamp', 'another query', { ...order, query: '?trace=2' }],
      ['text', 'another time stamp', { body: '{"item":"rocket","sentAt":2}' }],
      ['later', 'another time stamp', { body: '{"item":"rocket","sentAt":2}' }],
      ['fromContext', 'another time stamp', { body: '{"item":"rocket","sentAt":2}' }],
      ['rawBytes', 'nothing changed', order],
      ['nothing', 'another order', { body: '{"item":"star"}' }],
    ])('%s: a retry with %s is replayed', async (path, difference, changed) => {
      routes.answers(() => ({}));
      const key = `${path}-${difference}`.replaceAll(' ', '-');
      await post(path, key, order);
      const retry = await post(path, key, changed);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(routes.executions).toBe(1);
    });

    it.each<[string, string, Request]>([
      ['withoutTimestamp', 'another item', { body: '{"item":"star","sentAt":1}' }],
      ['text', 'another item', { body: '{"item":"star","sentAt":1}' }],
      ['later', 'another item', { body: '{"item":"star","sentAt":1}' }],
      ['fromContext', 'another item', { body: '{"item":"star","sentAt":1}' }],
      ['rawBytes', 'other white space', { body: '{"item": "rocket","sentAt":1}' }],
    ])('%s: a retry with %s is refused', async (path, difference, changed) => {
      routes.answers(() => ({}));
      const key = `${path}-${difference}`.replaceAll(' ', '-');
      await post(path, key, order);
      expect((await post(path, key, changed)).status).toBe(422);
      expect(routes.executions).toBe(1);
    });

    it('the route still counts', async () => {
      routes.answers(() => ({}));
      await post('text', 'two-routes', order);
      // Whose function returns the same.
      expect((await post('later', 'two-routes', order)).status).toBe(422);
    });

    it('what it throws is answered like any error of the application', async () => {
      routes.answers(() => ({}));
      const answer = await post('refusing', 'refusing', order);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ message: 'no item' });
      expect(routes.executions).toBe(0);
    });

    it('a value that has no canonical form is refused before the handler', async () => {
      routes.answers(() => ({}));
      const answer = await post('notJson', 'not-json', order);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ code: 'body_invalid' });
      expect(routes.executions).toBe(0);
    });
  });
});
