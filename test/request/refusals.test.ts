import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Dialect } from 'nestjs-atomic-idempotency';
import { send, type Sending } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { recordingLogger } from '../support/recording-logger.js';

const caller = { 'x-caller': 'ada' };
const refusals: [string, number, string, Sending][] = [
  ['key_missing', 400, 'Idempotency-Key is missing', { headers: caller }],
  ['key_invalid', 400, 'Idempotency-Key is not valid', { headers: caller, key: 'a, b' }],
  ['scope_missing', 403, 'The caller of the request is not known', { key: 'k' }],
];

forEachPlatform('Refused requests', (platform) => {
  function startWith(dialect: Dialect): () => IdempotentApp {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        idempotency: { dialect, scope: (request) => request.headers['x-caller'] },
        controllers: [new PolicyRoutes({ orders: {} }).controller],
        logger: recordingLogger(),
      });
    });
    afterAll(() => app.close());
    return () => app;
  }

  describe('get a problem document', () => {
    const app = startWith('ietf');

    it.each(refusals)('%s', async (code, status, title, request) => {
      const answer = await send(`${app().url}/orders`, request);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
      expect(answer.headers.get('content-language')).toBe('en');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('retry-after')).toBeNull();
      expect(answer.json()).toEqual({
        type: `urn:problem-type:idempotency:${code}`,
        title,
        status,
        detail: expect.stringMatching(/^[A-Z].+\.$/s),
        code,
        retryable: false,
      });
    });
  });

  describe("get an error object in Stripe's dialect", () => {
    const app = startWith('stripe');

    it.each(refusals)('%s', async (code, status, title, request) => {
      const answer = await send(`${app().url}/orders`, request);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('stripe-should-retry')).toBe('false');
      expect(answer.json()).toEqual({
        error: {
          type: 'invalid_request_error',
          code,
          message: expect.stringContaining(title),
        },
      });
    });
  });
});
