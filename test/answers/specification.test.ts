import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Dialect } from 'nestjs-atomic-idempotency';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const routes = new PolicyRoutes({ orders: {} });
const SPECIFICATION = 'https://api.example.com/docs/idempotency?v=2';
const DRAFT = 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/';

/** What a request without a key gets. */
const CASES: {
  dialect: Dialect;
  specification?: string;
  expected: (answer: Received) => void;
}[] = [
  {
    dialect: 'ietf',
    expected: (answer) => {
      expect(answer.json().type).toBe('urn:problem-type:idempotency:key_missing');
      expect(answer.headers.get('link')).toBe(`<${DRAFT}>; rel="describedby"`);
    },
  },
  {
    dialect: 'ietf',
    specification: SPECIFICATION,
    expected: (answer) => {
      expect(answer.json().type).toBe(`${SPECIFICATION}#key_missing`);
      expect(answer.headers.get('link')).toBe(`<${SPECIFICATION}>; rel="describedby"`);
    },
  },
  {
    dialect: 'stripe',
    expected: (answer) => expect(answer.json().error).not.toHaveProperty('doc_url'),
  },
  {
    dialect: 'stripe',
    specification: SPECIFICATION,
    expected: (answer) => expect(answer.json().error.doc_url).toBe(`${SPECIFICATION}#key_missing`),
  },
  {
    dialect: ({ type }) => ({ body: { type } }),
    specification: SPECIFICATION,
    expected: (answer) => expect(answer.json().type).toBe(`${SPECIFICATION}#key_missing`),
  },
];

forEachPlatform('The specification link', (platform) => {
  describe.each(CASES)(
    'in dialect $dialect with specification $specification',
    ({ dialect, specification, expected }) => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, {
          controllers: [routes.controller],
          idempotency: { dialect, ...(specification !== undefined && { specification }) },
        });
      });
      afterAll(() => app.close());

      it('is part of a problem', async () => {
        expected(await send(`${app.url}/orders`));
      });
    },
  );
});
