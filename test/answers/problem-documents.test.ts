import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ProblemCode } from '../../lib/answers/problems.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { ProblemSituations } from './problem-situations.js';

const situations = new ProblemSituations();

interface Expected {
  status: number;
  title: string | RegExp;
  retryable: boolean;
}

// The titles in quotes are the ones of draft-ietf-httpapi-idempotency-key-header.
const EXPECTED: Record<ProblemCode, Expected> = {
  key_missing: { status: 400, title: 'Idempotency-Key is missing', retryable: false },
  key_invalid: { status: 400, title: /./, retryable: false },
  body_invalid: { status: 400, title: /./, retryable: false },
  key_reused: { status: 422, title: 'Idempotency-Key is already used', retryable: false },
  in_progress: {
    status: 409,
    title: 'A request is outstanding for this Idempotency-Key',
    retryable: true,
  },
  outcome_unknown: { status: 409, title: /not known/, retryable: true },
  given_up: { status: 409, title: /given up/, retryable: true },
  unfinished: { status: 408, title: /not completed in time/, retryable: false },
  expired: { status: 410, title: /expired/, retryable: false },
  response_unavailable: { status: 410, title: /no longer available/, retryable: false },
  scope_missing: { status: 403, title: /./, retryable: false },
  rate_limited: { status: 429, title: /Too many/, retryable: true },
  store_unavailable: { status: 503, title: /./, retryable: true },
  lease_lost: { status: 409, title: /./, retryable: true },
};

const CODES = Object.keys(EXPECTED) as ProblemCode[];

forEachPlatform('Problem documents', (platform) => {
  let app: IdempotentApp;
  const types = new Map<string, string>();
  const titles = new Map<string, string>();

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [situations.routes.controller],
      idempotency: situations.idempotency,
      logger: false,
    });
  });
  afterAll(() => app.close());

  it.each(CODES)('are sent for %s', async (code) => {
    const { status, title, retryable } = EXPECTED[code];
    const answer = await situations.meet(code, app);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json(;|$)/);
    expect(answer.headers.get('content-language')).toBe('en');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-length')).toBe(String(answer.body.length));

    const problem = answer.json();
    expect(problem).toMatchObject({ status, code, retryable });
    if (typeof title === 'string') expect(problem.title).toBe(title);
    else expect(problem.title).toMatch(title);
    // A sentence of its own, that says more than the title does.
    expect(problem.detail).toMatch(/^[A-Z].*\.$/);
    expect(problem.detail).not.toBe(problem.title);
    expect(() => new URL(problem.type)).not.toThrow();
    types.set(code, problem.type);
    titles.set(code, problem.title);

    const retryAfter = answer.headers.get('retry-after');
    if (retryable) expect(retryAfter).toMatch(/^([1-9]|[1-5]\d)$/);
    else expect(retryAfter).toBeNull();
    expect(answer.headers.get('stripe-should-retry')).toBeNull();
    // The one problem that is stored as a key's answer.
    const stored = code === 'unfinished';
    expect(answer.headers.has('idempotent-replayed')).toBe(stored);
    expect(answer.headers.has('idempotency-key-expires')).toBe(stored);
  });

  it('have a type and a title of their own for every problem', () => {
    expect(new Set(types.values()).size).toBe(CODES.length);
    expect(new Set(titles.values()).size).toBe(CODES.length);
  });
});
