import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { sendRaw } from '../support/raw-http.js';

const refused: [string, string | string[]][] = [
  ['two lines', ['one', 'two']],
  ['two equal lines', ['same', 'same']],
  ['two quoted lines', ['"one"', '"two"']],
  ['an empty line beside a key', ['', 'one']],
  ['a key beside an empty line', ['one', '']],
  ['a list', 'one, two'],
  ['a list without space', 'one,two'],
  ['a list of strings', '"one", "two"'],
  ['a parameter', 'one;a=1'],
  ['a parameter of a string', '"one";a=1'],
  ['a flag of a string', '"one";a'],
  ['a space inside', 'one two'],
  ['a space inside quotes', '"one two"'],
  ['a tab inside', 'one\ttwo'],
  ['256 characters', 'k'.repeat(256)],
  ['256 characters in quotes', `"${'k'.repeat(256)}"`],
  ['10,000 characters', 'k'.repeat(10_000)],
  ['a letter with an accent', 'clé'],
  ['a letter with an accent in quotes', '"clé"'],
  ['a no-break space in front', '\u00a0one'],
  ['nothing but a no-break space', '\u00a0'],
  ['an open quote', '"one'],
  ['a stray quote', 'one"'],
  ['a quote in the middle', 'o"ne'],
  ['text behind the quotes', '"one"two'],
  ['an escape that does not exist', '"on\\e"'],
];

forEachPlatform('Refused keys', (platform) => {
  describe('A key is refused', () => {
    const routes = new PolicyRoutes({ orders: {}, optional: { required: false } });
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [routes.controller] });
    });
    afterAll(() => app.close());

    async function expectNothingHappened(): Promise<void> {
      expect(routes.executions).toBe(0);
      expect(await app.database.query('SELECT * FROM idempotency_keys')).toEqual([]);
    }

    function expectKeyInvalid(answer: Received): void {
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(answer.json()).toMatchObject({ status: 400, code: 'key_invalid', retryable: false });
    }

    it.each(refused)('with %s', async (_, key) => {
      const headers = { 'idempotency-key': key };
      expectKeyInvalid(await send(`${app.url}/orders`, { headers }));
      // Optional is not careless: whoever sends a key counts on it.
      expectKeyInvalid(await send(`${app.url}/optional`, { headers }));
      await expectNothingHappened();
    });

    it.each([0x00, 0x01, 0x08, 0x0b, 0x0c, 0x1f, 0x7f])(
      'with the control character %i, by the library or by the HTTP parser before it',
      async (code) => {
        const key = `one${String.fromCharCode(code)}two`;
        const answer = await sendRaw(app.url, [
          'POST /orders HTTP/1.1',
          'Host: localhost',
          'Connection: close',
          'Content-Length: 0',
          `Idempotency-Key: ${key}`,
        ]);
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
        await expectNothingHappened();
      },
    );
  });
});
