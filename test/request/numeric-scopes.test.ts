import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

forEachPlatform('Numeric scopes', (platform) => {
  describe('A scope that is a number', () => {
    const routes = new PolicyRoutes({ orders: {} });
    let id: string | number | bigint;
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        idempotency: { scope: () => id },
        controllers: [routes.controller],
      });
    });
    afterAll(() => app.close());
    beforeEach(() => routes.answers((execution) => ({ execution })));

    it.each<[string, number | bigint, string]>([
      ['a small one', 7, '7'],
      ['zero', 0, '0'],
      ['minus zero', -0, '0'],
      ['the largest safe integer', Number.MAX_SAFE_INTEGER, '9007199254740991'],
      ['a bigint', 2n ** 64n, '18446744073709551616'],
    ])('is stored as its decimal text: %s', async (name, value, stored) => {
      id = value;
      const key = name.replaceAll(' ', '-');
      const answer = await send(`${app.url}/orders`, { key });
      expect(answer.status).toBe(201);
      expect(await keyRow(app.database, key)).toMatchObject({ scope: stored });
    });

    it('is the same caller as a bigint and as text', async () => {
      for (const same of [42, 42n, '42']) {
        id = same;
        const answer = await send(`${app.url}/orders`, { key: 'same' });
        expect(answer.json()).toEqual({ execution: 1 });
      }
      id = 43;
      expect((await send(`${app.url}/orders`, { key: 'same' })).json()).toEqual({ execution: 2 });
    });
  });
});
