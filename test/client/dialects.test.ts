import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Dialect } from 'nestjs-atomic-idempotency';
import {
  createIdempotentFetch,
  memoryKeys,
  OutcomeUnknownError,
  RequestRefusedError,
  type CodeOf,
  type IdempotentInit,
} from 'nestjs-atomic-idempotency/client';
import { PROBLEMS, type ProblemCode } from '../../lib/answers/problems.js';
import { read } from '../../lib/client/answers.js';
import { ADVICE } from '../../lib/client/problem-codes.js';
import { ProblemSituations } from '../answers/problem-situations.js';
import { errorEnvelope } from '../docs/examples/error-envelope.js';
import { barrier } from '../support/barrier.js';
import { lapse, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { until } from '../support/until.js';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

const strange: Dialect = ({ code, status }) => ({ status, body: { fault: { reason: code } } });
const codeOf: CodeOf = (body) => (body as { fault?: { reason?: string } })?.fault?.reason;

const DIALECTS: [name: string, dialect: Dialect, codeOf?: CodeOf][] = [
  ['ietf', 'ietf'],
  ['stripe', 'stripe'],
  ['an envelope with error.code', errorEnvelope],
  ['any other envelope, with codeOf', strange, codeOf],
];

describe('The codes that the client knows', () => {
  it('are those of the library, and what may not be retried is not', () => {
    expect(Object.keys(ADVICE).toSorted()).toEqual(CODES.toSorted());
    for (const code of CODES) {
      const isRetried = ['wait', 'retry', 'unknown'].includes(ADVICE[code]);
      expect([code, isRetried]).toEqual([code, PROBLEMS[code].retryable]);
    }
  });
});

forEachPlatform('The client and a server that speaks', (platform) => {
  describe.each(DIALECTS)('%s', (_name, dialect, readCode) => {
    const problems = new ProblemSituations();
    const routes = new PolicyRoutes({
      rejects: {},
      accepts: { onInProgress: 'accept' },
      unkept: { maxResponseBytes: 1 },
    });
    const keys = memoryKeys();
    const headers = { 'x-account': 'a', 'content-type': 'application/json' };
    let app: IdempotentApp;
    let requests: { key: unknown; status?: number }[] = [];
    const send = createIdempotentFetch({
      keys,
      minDelay: 1,
      ...(readCode && { codeOf: readCode }),
    });
    const post = (path: string, init: IdempotentInit = {}) =>
      send(`${app.url}/${path}`, { method: 'POST', headers, body: '{}', ...init });

    function watch(
      { headers: { 'idempotency-key': key } }: IncomingMessage,
      response: ServerResponse,
    ) {
      const request: (typeof requests)[number] = { key };
      requests.push(request);
      response.once('finish', () => void (request.status = response.statusCode));
    }

    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [problems.routes.controller, routes.controller],
        idempotency: { ...problems.idempotency, dialect, statusPath: 'status' } as object,
        configure: (nest) => void nest.getHttpServer().on('request', watch),
        logger: false,
      });
    });
    beforeEach(() => void (requests = []));
    afterAll(() => app.close());

    it('understands every problem', async () => {
      for (const code of CODES) {
        const { text, ...head } = await problems.meet(code, app);
        const response = new Response(text, head);
        const advice = read({ response, body: JSON.parse(text) as unknown }, readCode);
        // It is stored, and comes as a replay.
        expect([code, advice.advice]).toEqual([code, ADVICE[code]]);
      }
    });

    it('waits while the first request is in progress, and gets its answer', async () => {
      const gate = barrier();
      routes.answers(async (order) => {
        await gate.pass();
        return { order };
      });
      const operation = 'in-progress';
      const first = post('rejects', { operation });
      await gate.arrived();
      const second = post('rejects', { operation });
      await until(() => requests[1]?.status);
      gate.open();

      expect(await (await first).json()).toEqual({ order: 1 });
      const replay = await second;
      expect([replay.status, await replay.json()]).toEqual([201, { order: 1 }]);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(requests[1]!.status).toBe(409);
      expect(new Set(requests.map(({ key }) => key)).size).toBe(1);
    });

    // A 202 is the same in each of them, and its pauses take their time.
    if (dialect === 'ietf') {
      it('follows the Location of a 202 until the outcome', async () => {
        const gate = barrier();
        routes.answers(async (order) => {
          await gate.pass();
          return { order };
        });
        const asked: string[] = [];
        app.app
          .getHttpServer()
          .on('request', ({ method, url }: { method: string; url: string }) => {
            asked.push(`${method} ${url.replace(/\d+$/, ':id')}`);
          });
        const operation = 'accepted';
        const first = post('accepts', { operation });
        await gate.arrived();
        const second = post('accepts', { operation });
        await until(() => asked.includes('GET /status/:id'));
        gate.open();

        expect((await first).status).toBe(201);
        const replay = await second;
        expect([replay.status, await replay.json()]).toEqual([201, { order: 1 }]);
        expect(asked.at(-1)).toBe('POST /accepts');
        expect(routes.executions).toBe(1);
      });
    }

    it('has an error where the key was used for another request, and keeps the key', async () => {
      routes.answers(() => ({}));
      const idempotencyKey = 'used';
      await post('rejects', { idempotencyKey });
      const misuse = post('rejects', { idempotencyKey, body: '{"other":1}' });
      await expect(misuse).rejects.toThrow(RequestRefusedError);
      await expect(misuse).rejects.toMatchObject({ code: 'key_reused', key: 'used' });
      expect(routes.executions).toBe(1);
    });

    it('has an error where the answer was not kept, with the status it had', async () => {
      routes.answers(() => ({ large: 'answer' }));
      const idempotencyKey = 'large';
      expect((await post('unkept', { idempotencyKey })).status).toBe(201);
      const retry = post('unkept', { idempotencyKey });
      await expect(retry).rejects.toMatchObject({ code: 'response_unavailable' });
      const original = dialect === 'ietf' || dialect === 'stripe' ? 201 : undefined;
      await expect(retry).rejects.toMatchObject({ originalStatus: original });
    });

    it('has an OutcomeUnknownError where the server does not know', async () => {
      const gate = barrier();
      routes.answers(() => gate.pass());
      const key = crypto.randomUUID();
      const impatient = createIdempotentFetch({
        retries: 0,
        ...(readCode && { codeOf: readCode }),
      });
      const init = { method: 'POST', headers, body: '{}', idempotencyKey: key };
      const ask = () => impatient(`${app.url}/rejects`, init);
      const first = ask();
      await gate.arrived();
      await lapse(app.database, key);
      const retry = ask();
      await expect(retry).rejects.toThrow(OutcomeUnknownError);
      await expect(retry).rejects.toMatchObject({ reason: 'outcome_unknown', key });
      gate.open();
      await expect(first).rejects.toThrow(OutcomeUnknownError);
    });

    it('repeats what failed, unless the server keeps the failure', async () => {
      routes.answers(() => {
        throw Object.assign(new Error(), { statusCode: 500 });
      });
      const idempotencyKey = 'fails';
      const [result] = await Promise.allSettled([post('rejects', { idempotencyKey })]);
      // Stripe's dialect stores what failed; elsewhere each retry runs it again.
      if (dialect === 'stripe') {
        expect(result).toMatchObject({ status: 'fulfilled', value: { status: 500 } });
        expect(routes.executions).toBe(1);
      } else {
        expect(result).toMatchObject({ status: 'rejected', reason: { reason: 'retries' } });
        expect(routes.executions).toBe(6);
      }
    });
  });
});
