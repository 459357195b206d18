import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const absent: [string, { headers?: Record<string, string | string[]> }][] = [
  ['without the header', {}],
  ['with an empty header', { headers: { 'idempotency-key': '' } }],
  ['with nothing but white space', { headers: { 'idempotency-key': ' \t ' } }],
  ['with an empty string in quotes', { headers: { 'idempotency-key': '""' } }],
  ['with two empty lines', { headers: { 'idempotency-key': ['', ''] } }],
];

forEachPlatform('Missing keys', (platform) => {
  describe('A request', () => {
    const routes = new PolicyRoutes({ orders: {}, optional: { required: false } });
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [routes.controller] });
    });
    afterAll(() => app.close());

    describe.each(absent)('%s', (_, request) => {
      it('is refused if a key is required', async () => {
        routes.answers(() => ({}));
        const answer = await send(`${app.url}/orders`, request);
        expect(answer.status).toBe(400);
        expect(answer.json()).toMatchObject({
          code: 'key_missing',
          title: 'Idempotency-Key is missing',
          detail: expect.stringContaining('Idempotency-Key header'),
        });
        expect(routes.executions).toBe(0);
      });

      it('passes unchanged if no key is required', async () => {
        routes.answers((execution) => ({ execution }));
        await send(`${app.url}/optional`, request);
        const second = await send(`${app.url}/optional`, request);

        expect(second.status).toBe(201);
        expect(second.json()).toEqual({ execution: 2 });
        expect([...second.headers.keys()].filter((name) => name.startsWith('idempot'))).toEqual([]);
        expect(await app.database.query('SELECT * FROM idempotency_keys')).toEqual([]);
      });
    });
  });
});
