import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const DEPTH = 50_000;
const deepArray = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
const deepObject = '{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH);

/** Bodies that have no canonical form, so that a retry could not be recognised. */
const incomparable: [string, string][] = [
  ['50,000 arrays in each other', deepArray],
  ['50,000 objects in each other', deepObject],
  ['half of a surrogate pair in a value', '{"a":"\\ud800"}'],
  ['half of a surrogate pair in a name', '{"\\udc00":1}'],
  ['a number beyond all numbers', '{"a":1e400}'],
];

/** Bodies that a parser may refuse, but that must not surprise us. */
const odd: [string, string][] = [
  ['an empty array', '[]'],
  ['an array', '[1,[2,{"b":1,"a":2}]]'],
  ['a string', '"rocket"'],
  ['half of a surrogate pair', '"\\ud800"'],
  ['a number', '7'],
  ['null', 'null'],
  ['true', 'true'],
  ['an integer that no double can hold', '{"a":12345678901234567890}'],
  ['a tiny number', '{"a":1e-400}'],
  ['minus zero', '{"a":-0}'],
  ['a member __proto__', '{"__proto__":{"a":1},"b":2}'],
  ['a member constructor', '{"constructor":{"prototype":{"a":1}}}'],
  ['a member toJSON', '{"toJSON":"rocket"}'],
  ['an empty name', '{"":1}'],
  ['a NUL character', '{"a":"\\u0000"}'],
  ['a name twice', '{"a":1,"a":2}'],
  ['an emoji', '{"🚀":"🚀"}'],
];

forEachPlatform('Unusual JSON', (platform) => {
  describe('JSON with', () => {
    const routes = new PolicyRoutes({ orders: {}, optional: { required: false } });
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [routes.controller],
        configure: (nest) => {
          if (platform.name === 'fastify') return; // whose limit is higher
          (nest as NestExpressApplication).useBodyParser('json', { limit: '1mb' });
        },
      });
    });
    afterAll(() => app.close());

    it.each(incomparable)('%s is refused with 400', async (_, body) => {
      routes.answers(() => ({}));
      const answer = await send(`${app.url}/orders`, { key: 'k', body });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(answer.json()).toMatchObject({ code: 'body_invalid', retryable: false });
      expect(routes.executions).toBe(0);
      expect(await app.database.query(`SELECT 1 FROM idempotency_keys WHERE key = 'k'`)).toEqual(
        [],
      );

      // Without a key there is nothing to compare.
      expect((await send(`${app.url}/optional`, { body })).status).toBe(201);
    });

    it.each(odd)('%s runs once, or is refused by the parser', async (name, body) => {
      routes.answers((execution) => ({ execution }));
      const request = { key: name.replaceAll(' ', '-'), body };
      const first = await send(`${app.url}/orders`, request);
      const retry = await send(`${app.url}/orders`, request);

      expect([201, 400]).toContain(first.status);
      expect(retry.status).toBe(first.status);
      expect(retry.body).toEqual(first.body);
      expect(routes.executions).toBe(first.status === 201 ? 1 : 0);
    });

    it('members named __proto__ that differ has another fingerprint', async () => {
      routes.answers((execution) => ({ execution }));
      const key = 'prototypes';
      const first = await send(`${app.url}/orders`, { key, body: '{"__proto__":{"a":1}}' });
      const other = await send(`${app.url}/orders`, { key, body: '{"__proto__":{"a":2}}' });
      // Fastify's parser refuses such members.
      expect([first.status, other.status]).toEqual(
        platform.name === 'express' ? [201, 422] : [400, 400],
      );
    });
  });
});
