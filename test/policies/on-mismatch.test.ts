import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { writtenRow } from '../support/written-row.js';

const routes = new PolicyRoutes({ strict: {}, lenient: { onMismatch: 'replay' } });

forEachPlatform('onMismatch', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller] });
  });
  afterAll(() => app.close());

  it.each([
    ['strict', 422, '/strict?page=2'],
    ['strict', 422, '/strict'],
    ['lenient', 201, '/lenient?page=2'],
    ['lenient', 201, '/lenient'],
    // The other route's policy decides about a key that was used here first.
    ['strict', 201, '/lenient'],
    ['lenient', 422, '/strict'],
  ])(
    'on a finished key of a %s route gives %i to another request (%s)',
    async (path, status, url) => {
      const key = `${path}-${status}-${url}`;
      routes.answers((execution) => ({ execution }));
      const first = await send(`${app.url}/${path}`, { key, body: { amount: 1 } });
      const before = await writtenRow(app.database, key);

      const other = await send(app.url + url, { key, body: { amount: 2 } });
      expect(other.status).toBe(status);
      if (status === 201) expect(other.body).toEqual(first.body);
      else expect(other.json().code).toBe('key_reused');
      expect(await writtenRow(app.database, key)).toEqual(before);

      const retry = await send(`${app.url}/${path}`, { key, body: { amount: 1 } });
      expect(retry.body).toEqual(first.body);
      expect(routes.executions).toBe(1);
    },
  );
});
