import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Dialect } from 'nestjs-atomic-idempotency';
import type { ProblemCode } from '../../lib/answers/problems.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { ProblemSituations } from './problem-situations.js';

const situations = new ProblemSituations();
const routes = new PolicyRoutes({ stripe: {}, overridden: { onServerError: 'retry' } });

interface Expected {
  status: number;
  /** The status of the other dialect, where it differs. */
  ietf?: number;
  type: string;
  code: string;
  retried: boolean;
}

const EXPECTED: Record<ProblemCode, Expected> = {
  key_missing: { status: 400, type: 'invalid_request_error', code: 'key_missing', retried: false },
  key_invalid: { status: 400, type: 'invalid_request_error', code: 'key_invalid', retried: false },
  body_invalid: {
    status: 400,
    type: 'invalid_request_error',
    code: 'body_invalid',
    retried: false,
  },
  scope_missing: {
    status: 403,
    type: 'invalid_request_error',
    code: 'scope_missing',
    retried: false,
  },
  key_reused: {
    status: 400,
    ietf: 422,
    type: 'idempotency_error',
    code: 'key_reused',
    retried: false,
  },
  in_progress: {
    status: 409,
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
    retried: true,
  },
  outcome_unknown: {
    status: 409,
    type: 'idempotency_error',
    code: 'outcome_unknown',
    retried: true,
  },
  rate_limited: { status: 429, type: 'rate_limit_error', code: 'rate_limit', retried: true },
  given_up: { status: 409, type: 'idempotency_error', code: 'given_up', retried: true },
  unfinished: { status: 408, type: 'idempotency_error', code: 'unfinished', retried: false },
  expired: { status: 410, type: 'idempotency_error', code: 'expired', retried: false },
  response_unavailable: {
    status: 410,
    type: 'idempotency_error',
    code: 'response_unavailable',
    retried: false,
  },
  store_unavailable: { status: 503, type: 'api_error', code: 'store_unavailable', retried: true },
  lease_lost: { status: 409, type: 'idempotency_error', code: 'lease_lost', retried: true },
};

forEachPlatform('Dialects', (platform) => {
  let stripe: IdempotentApp;
  let ietf: IdempotentApp;
  beforeAll(async () => {
    const start = (dialect: Dialect) =>
      startIdempotentApp(platform, {
        controllers: [situations.routes.controller, routes.controller],
        idempotency: { ...situations.idempotency, dialect },
        logger: false,
      });
    stripe = await start('stripe');
    ietf = await start('ietf');
  });
  afterAll(() => Promise.all([ietf.close(), stripe.close()]));

  describe("The dialect 'stripe'", () => {
    it.each(Object.keys(EXPECTED) as ProblemCode[])(
      'describes %s as Stripe does',
      async (problem) => {
        const { status, ietf: otherStatus = status, type, code, retried } = EXPECTED[problem];
        const answer = await situations.meet(problem, stripe);
        expect(answer.status).toBe(status);
        expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
        expect(answer.headers.get('stripe-should-retry')).toBe(String(retried));
        const body = answer.json();
        expect(Object.keys(body)).toEqual(['error']);
        expect(body.error).toMatchObject({
          type,
          code,
          message: expect.stringMatching(/^[A-Z].*\.$/),
        });
        if (problem === 'response_unavailable') expect(body.error.original_status).toBe(201);
        const retryAfter = answer.headers.get('retry-after');
        if (retried) expect(retryAfter).toMatch(/^([1-9]|[1-5]\d)$/);
        else expect(retryAfter).toBeNull();

        const other = await situations.meet(problem, ietf);
        expect(other.status).toBe(otherStatus);
        expect(other.json()).not.toHaveProperty('error');
      },
    );

    it.each([
      [500, 'completed'],
      [503, 'completed'],
      [409, 'completed'],
      [429, 'failed_retryable'],
    ])('stores a %i: %s', async (status, state) => {
      routes.answers((execution) => {
        throw new HttpException({ execution }, status);
      });
      const key = `status-${status}`;
      const ask = () => send(`${stripe.url}/stripe`, { key, headers: { 'x-account': 'a' } });
      expect((await ask()).status).toBe(status);
      expect((await keyRow(stripe.database, key)).status).toBe(state);
      const retry = await ask();
      expect(retry.status).toBe(status);
      const stored = state === 'completed';
      expect(retry.json()).toEqual({ execution: stored ? 1 : 2 });
      expect(retry.headers.get('idempotent-replayed')).toBe(stored ? 'true' : null);
    });

    it('leaves the decision about a 500 to the policy of a route', async () => {
      routes.answers(() => {
        throw new Error('a bug');
      });
      const headers = { 'x-account': 'a' };
      for (const execution of [1, 2]) {
        expect(
          (await send(`${stripe.url}/overridden`, { key: 'overridden', headers })).status,
        ).toBe(500);
        expect(routes.executions).toBe(execution);
      }
    });
  });
});
