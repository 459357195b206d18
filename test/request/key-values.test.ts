import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

/** Every character that a key may have. */
const VISIBLE = Array.from({ length: 0x7e - 0x20 }, (_, i) => String.fromCharCode(0x21 + i)).join(
  '',
);
const quoted = (key: string) => `"${key.replace(/["\\]/g, '\\$&')}"`;

forEachPlatform('Values of keys', (platform) => {
  describe('A key', () => {
    const routes = new PolicyRoutes({ orders: {} });
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [routes.controller] });
    });
    afterAll(() => app.close());

    it.each([
      ['a UUID', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
      ['one character', '0'],
      ['255 characters', 'k'.repeat(255)],
      ['all that is allowed without quotes', VISIBLE.replace(/[",;]/g, '')],
      ['what means something elsewhere', "o'r--%00$1\\n{}[]<>&=:/?#"],
    ])('is the same quoted and bare: %s', async (_, key) => {
      routes.answers((execution) => ({ execution }));
      await send(`${app.url}/orders`, { key });
      const retry = await send(`${app.url}/orders`, { key: quoted(key) });

      expect(retry.status).toBe(201);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(routes.executions).toBe(1);
      expect(await keyRow(app.database, key)).toMatchObject({ key, status: 'completed' });
    });

    it.each([
      ['escaped quotes and backslashes', '"say \\"no\\" \\\\ more"'.replaceAll(' ', '-')],
      ['what would be a list or parameters without the quotes', '"a,b;c=1"'],
      ['every allowed character', quoted(VISIBLE)],
    ])('may contain %s between quotes', async (_, key) => {
      routes.answers((execution) => ({ execution }));
      await send(`${app.url}/orders`, { key });
      const retry = await send(`${app.url}/orders`, { key: ` \t${key} ` });

      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(routes.executions).toBe(1);
    });

    it('differs from one in another case', async () => {
      routes.answers((execution) => ({ execution }));
      await send(`${app.url}/orders`, { key: 'case' });
      const other = await send(`${app.url}/orders`, { key: 'CASE' });
      expect(other.json()).toEqual({ execution: 2 });
    });
  });
});
