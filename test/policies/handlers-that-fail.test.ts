import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { concat, of, throwError } from 'rxjs';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ orders: {} });

const FAILURES: Record<string, () => unknown> = {
  'throws an error': () => {
    throw new Error('must not be shown');
  },
  // Nest answers 500 to whatever is thrown.
  'throws something else': () => {
    throw undefined as unknown as Error;
  },
  rejects: () => Promise.reject(new Error('must not be shown')),
  'returns an Observable that fails': () => throwError(() => new Error('must not be shown')),
  'emits before it fails': () =>
    concat(
      of({ half: 'done' }),
      throwError(() => new Error('must not be shown')),
    ),
  'returns what JSON cannot hold': () => ({ big: 1n }),
};

forEachPlatform('Handlers that fail', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());

  describe('A handler that', () => {
    it.each(Object.keys(FAILURES))('%s gets 500, and a retry may succeed', async (name) => {
      const key = name.replaceAll(' ', '-');
      const ask = (body: unknown) => send(`${app.url}/orders`, { key, body });
      routes.answers((execution) => (execution === 1 ? FAILURES[name]!() : { execution }));

      const first = await ask({ amount: 1 });
      expect(first.status).toBe(500);
      expect(first.text).not.toContain('must not be shown');

      // The key is not given back: what it may have done was for this request only.
      expect((await ask({ amount: 2 })).status).toBe(422);
      const second = await ask({ amount: 1 });
      expect([second.status, second.json()]).toEqual([201, { execution: 2 }]);
      const replay = await ask({ amount: 1 });
      expect([replay.status, replay.text]).toEqual([201, second.text]);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(routes.executions).toBe(2);
    });
  });
});
