import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { IdempotencyProblem, ProblemAnswer, ProblemCode } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { ProblemSituations } from './problem-situations.js';

const situations = new ProblemSituations();

const STATUS: Record<ProblemCode, number> = {
  key_missing: 400,
  key_invalid: 400,
  body_invalid: 400,
  key_reused: 422,
  in_progress: 409,
  outcome_unknown: 409,
  given_up: 409,
  unfinished: 408,
  expired: 410,
  response_unavailable: 410,
  scope_missing: 403,
  rate_limited: 429,
  store_unavailable: 503,
  lease_lost: 409,
};
const CODES = Object.keys(STATUS) as ProblemCode[];

function envelope({ code, status, title, detail, retryable, members }: IdempotencyProblem) {
  return { body: { ok: false, errors: [{ code, status, title, detail, retryable, ...members }] } };
}

/** Functions that cannot be used, and a word of what the log says about each. */
const BROKEN: [string, (problem: IdempotencyProblem) => unknown, RegExp][] = [
  ['throws', () => raise('no words'), /no words/],
  ['returns nothing', () => undefined, /no object/],
  ['returns a promise', async () => ({ body: {} }), /promise/],
  ['makes a success of it', () => ({ status: 200, body: {} }), /status is 200/],
  ['returns a body that JSON cannot hold', () => ({ body: { n: 1n } }), /BigInt/],
  ['returns a header that cannot be sent', () => ({ headers: { 'x-a': 'a\nb' } }), /x-a/],
  [
    'sets the length',
    () => ({ headers: { 'Content-Length': '3' }, body: 'abc' }),
    /Content-Length/,
  ],
];

function raise(message: string): never {
  throw new Error(message);
}

forEachPlatform('A dialect of the application', (platform) => {
  const logger = recordingLogger();
  let speak: (problem: IdempotencyProblem) => unknown = envelope;
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [situations.routes.controller],
      idempotency: {
        ...situations.idempotency,
        dialect: (problem) => speak(problem) as ProblemAnswer,
      },
      logger,
    });
  });
  beforeEach(() => {
    speak = envelope;
    logger.errors.length = 0;
  });
  afterAll(() => app.close());

  describe('A working dialect', () => {
    it.each(CODES)('is asked about %s', async (code) => {
      const answer = await situations.meet(code, app);
      expect(answer.status).toBe(STATUS[code]);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const { ok, errors } = answer.json();
      expect(ok).toBe(false);
      expect(errors).toEqual([
        expect.objectContaining({ code, status: STATUS[code], title: expect.any(String) }),
      ]);
      const retryAfter = answer.headers.get('retry-after');
      if (errors[0].retryable) expect(retryAfter).toMatch(/^([1-9]|[1-5]\d)$/);
      else expect(retryAfter).toBeNull();
    });

    it('chooses status, headers and bytes', async () => {
      speak = () => ({
        status: 499,
        headers: { 'Content-Type': 'text/x-error', 'Cache-Control': 'private', 'X-Error': 'yes' },
        body: Buffer.from('no key'),
      });
      const answer = await send(`${app.url}/orders`);
      expect(answer.status).toBe(499);
      expect(answer.text).toBe('no key');
      expect(answer.headers.get('content-type')).toBe('text/x-error');
      expect(answer.headers.get('cache-control')).toBe('private');
      expect(answer.headers.get('x-error')).toBe('yes');
    });

    it('may answer with text, or with no body at all', async () => {
      speak = () => ({ body: 'no key' });
      expect((await send(`${app.url}/orders`)).text).toBe('no key');
      speak = () => ({});
      const empty = await send(`${app.url}/orders`);
      expect(empty.status).toBe(400);
      expect(empty.body).toHaveLength(0);
    });

    it('is used for the answer with which an operator closes a request', async () => {
      const sending = { key: 'closed', headers: { 'x-account': 'a' } };
      situations.routes.answers(() => raise('a bug'));
      await send(`${app.url}/orders`, sending);
      const { id } = await keyRow(app.database, 'closed');
      await operatorOf(app).expire(id, { who: 'ada' });
      const answer = await send(`${app.url}/orders`, sending);
      expect(answer.status).toBe(408);
      expect(answer.json()).toMatchObject({ ok: false, errors: [{ code: 'unfinished' }] });
    });
  });

  describe('A broken dialect that', () => {
    it.each(BROKEN)(
      '%s is replaced by the IETF document, and the log gives the reason',
      async (_, broken, why) => {
        // Each failure in an application of its own: one line is logged per burst.
        const own = await startIdempotentApp(platform, {
          controllers: [situations.routes.controller],
          idempotency: {
            ...situations.idempotency,
            dialect: (problem) => broken(problem) as ProblemAnswer,
          },
          logger,
          database: app.database,
        });
        const answer = await send(`${own.url}/orders`);
        expect(answer.status).toBe(400);
        expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(answer.json()).toMatchObject({ code: 'key_missing' });
        const lines = logger.errors.filter((line) => line.includes('key_missing'));
        expect(lines).toEqual([expect.stringMatching(why)]);
        await own.close();
      },
    );
  });
});
