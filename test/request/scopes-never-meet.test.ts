import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { reservationOf } from '../support/key-store.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { useKeyStore } from '../support/use-key-store.js';

/** What joins, quotes, escapes, folds or normalises elsewhere. */
const TRICKY = ['a', 'A', ':', '|', '/', '"', "'", '\\', '%', '_', ',', '{', '}', '~', '0'];
const key = fc.string({ unit: fc.constantFrom(...TRICKY), minLength: 1, maxLength: 3 });
const scope = fc.string({
  unit: fc.constantFrom(...TRICKY, ' ', '\n', '\u0001', 'é', 'e\u0301', '\ufeff', '🚀', 'ß', 'ſ'),
  minLength: 1,
  maxLength: 3,
});

describe('Two scopes', () => {
  const { database, keys } = useKeyStore();

  it('never share a key, whatever characters they contain', async () => {
    const taken = new Map<string, string>();

    const claim = async (owner: { scope: string; key: string }) => {
      const name = JSON.stringify([owner.scope, owner.key]);
      const [result] = await keys.store.reserve([
        reservationOf(owner.key, { scope: owner.scope, fingerprint: Buffer.from(name) }),
      ]);
      if (!taken.has(name)) {
        expect(result).toMatchObject({ kind: 'reserved' });
        taken.set(name, (result as { id: string }).id);
      } else {
        expect(result).toMatchObject({ kind: 'found', key: { id: taken.get(name) } });
        expect((result as { key: { fingerprint: Buffer } }).key.fingerprint.toString()).toBe(name);
      }
    };

    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ scope, key }), { minLength: 1, maxLength: 8 }),
        async (owners) => {
          for (const owner of owners) await claim(owner);
        },
      ),
      { numRuns: 60 },
    );
    expect(await database.query('SELECT count(*)::int AS n FROM idempotency_keys')).toEqual([
      { n: taken.size },
    ]);
  });
});

forEachPlatform('Scopes and keys', (platform) => {
  it('that are equal when joined are separate', async () => {
    const routes = new PolicyRoutes({ orders: {} });
    routes.answers((execution) => ({ execution }));
    const app = await startIdempotentApp(platform, {
      idempotency: { scope: (request) => decodeURIComponent(request.headers['x-caller']) },
      controllers: [routes.controller],
    });
    const pairs = [
      ['a', 'b:c'],
      ['a:b', 'c'],
      ['a', ':b:c'],
      ['é', 'k'],
      ['e\u0301', 'k'],
      ['ada', 'k'],
      ['ADA', 'k'],
      ['ada ', 'k'],
    ] as const;
    const order = ([caller, name]: readonly [string, string]) =>
      send(`${app.url}/orders`, {
        key: name,
        headers: { 'x-caller': encodeURIComponent(caller) },
      });

    for (const [index, pair] of pairs.entries()) {
      expect((await order(pair)).json()).toEqual({ execution: index + 1 });
    }
    for (const [index, pair] of pairs.entries()) {
      expect((await order(pair)).json()).toEqual({ execution: index + 1 });
    }
    await app.close();
  });
});
