import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

forEachPlatform('The name of the key header', (platform) => {
  describe('with header: "PayPal-Request-Id"', () => {
    const routes = new PolicyRoutes({ orders: {} });
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        idempotency: { header: 'PayPal-Request-Id' },
        controllers: [routes.controller],
      });
    });
    afterAll(() => app.close());

    it('is used to read the key, in any case', async () => {
      routes.answers((execution) => ({ execution }));
      await send(`${app.url}/orders`, { headers: { 'PAYPAL-REQUEST-ID': 'one' } });
      const retry = await send(`${app.url}/orders`, { headers: { 'paypal-request-id': 'one' } });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(routes.executions).toBe(1);
    });

    it('is in the error about two lines of it', async () => {
      const headers = { 'paypal-request-id': ['one', 'two'] };
      const answer = await send(`${app.url}/orders`, { headers });
      expect(answer.json()).toMatchObject({
        code: 'key_invalid',
        detail: expect.stringContaining('PayPal-Request-Id'),
      });
    });

    it('is in the error about a missing key', async () => {
      const answer = await send(`${app.url}/orders`, { key: 'one' });
      expect(answer.json()).toMatchObject({
        code: 'key_missing',
        detail: expect.stringContaining('PayPal-Request-Id'),
      });
    });
  });
});
