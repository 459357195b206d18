import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { recordingLogger } from '../support/recording-logger.js';

const user: Record<string, unknown> = { password: 'secret' };
user.self = user;

const refused: [string, unknown, string][] = [
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['an empty string', '', 'an empty string'],
  ['a fraction', 4.2, 'a number that is not a safe integer'],
  ['NaN', NaN, 'a number that is not a safe integer'],
  ['infinite', Infinity, 'a number that is not a safe integer'],
  ['a number beyond 2^53', 2 ** 53, 'a number that is not a safe integer'],
  ['false', false, 'a value of type boolean'],
  ['a user with a reference to itself', user, 'a value of type object'],
  ['a NUL character', 'ada\0', 'a string with a NUL character'],
  ['half of a surrogate pair', 'ada\ud800', 'a string with half of a surrogate pair'],
  ['more than an index can hold', 'a'.repeat(1_001), 'a string of 1001 bytes'],
];

forEachPlatform('Refused scopes', (platform) => {
  describe('A request', () => {
    const routes = new PolicyRoutes({ orders: {} });
    const logger = recordingLogger();
    let scope: unknown;
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        idempotency: { scope: () => scope as string },
        controllers: [routes.controller],
        logger,
      });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      logger.errors.length = 0;
    });

    it.each(refused)(
      'is refused before the handler if the scope is %s, with a hint in the log',
      async (_, value, hint) => {
        scope = value;
        const answer = await send(`${app.url}/orders`, { key: 'k' });

        expect(answer.status).toBe(403);
        expect(answer.json()).toMatchObject({ code: 'scope_missing', retryable: false });
        expect(routes.executions).toBe(0);
        expect(await app.database.query('SELECT * FROM idempotency_keys')).toEqual([]);
        expect(logger.errors).toEqual([expect.stringContaining(`scope option returned ${hint}`)]);
        expect(logger.errors[0]).toContain('for PolicyController.');
        expect(logger.errors[0]).toContain("scope: 'global'");
        expect(logger.errors[0]).not.toContain('secret');
      },
    );

    it('runs with the longest scope that fits and the longest key', async () => {
      // Bytes count, and random ones, because PostgreSQL may compress what repeats.
      const letters = Array.from({ length: 500 }, (_, i) => String.fromCodePoint(0x100 + i * 3));
      scope = letters.join('');
      expect(Buffer.byteLength(scope as string)).toBe(1_000);
      const answer = await send(`${app.url}/orders`, { key: 'k'.repeat(255) });
      expect(answer.status).toBe(201);
    });
  });
});
