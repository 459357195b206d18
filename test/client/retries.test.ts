import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createIdempotentFetch,
  memoryKeys,
  NotExecutedError,
  OutcomeUnknownError,
  RequestRefusedError,
  type IdempotentFetch,
  type IdempotentFetchOptions,
  type IdempotentInit,
} from 'nestjs-atomic-idempotency/client';
import { keyTime } from '../../lib/request/key-time.js';
import { startScriptedServer, type ScriptedServer, type Step } from './scripted-server.js';

const FINAL = { 'idempotency-key-expires': new Date(Date.now() + 3_600_000).toUTCString() };
const CREATED: Step = { status: 201, headers: FINAL, body: { order: 1 } };
const QUICK = { minDelay: 1, maxDelay: 2 };

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());

function client(options: IdempotentFetchOptions = {}): IdempotentFetch {
  return createIdempotentFetch({ ...QUICK, ...options });
}

function order(send: IdempotentFetch, init: IdempotentInit = {}): Promise<Response> {
  return send(`${server.url}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"item":"rocket"}',
    ...init,
  });
}

/** The error that a call ends with. */
async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('It did not fail.');
}

describe('A request of the client', () => {
  it('has a UUIDv7 of its own as its key, and says which attempt it is', async () => {
    server.play(CREATED);
    const send = client();
    const before = Date.now();
    const response = await order(send);
    await order(send);

    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ order: 1 });
    const [first, second] = server.requests;
    expect(keyTime(first!.key!)).toBeGreaterThanOrEqual(before);
    expect(keyTime(first!.key!)).toBeLessThanOrEqual(Date.now());
    expect(second!.key).not.toBe(first!.key);
    expect(first).toMatchObject({ attempt: '1', body: '{"item":"rocket"}' });
  });

  it.each<[what: string, ...steps: Step[]]>([
    ['a connection that breaks', 'reset', 'reset', CREATED],
    ['an answer that breaks off', 'cut', CREATED],
    ['500', { status: 500 }, CREATED],
    ['502, 503 and 504', { status: 502 }, { status: 503 }, { status: 504 }, CREATED],
    ['429', { status: 429 }, CREATED],
    ['408 and 425', { status: 408 }, { status: 425 }, CREATED],
    ['409 with Retry-After', { status: 409, headers: { 'retry-after': '0' } }, CREATED],
    [
      'what Stripe wants repeated',
      { status: 409, headers: { 'stripe-should-retry': 'true' } },
      CREATED,
    ],
  ])('is repeated under the same key after %s', async (_what, ...steps) => {
    server.play(...steps);
    const response = await order(client());
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ order: 1 });
    const [first] = server.requests;
    expect(server.requests.map(({ key, attempt, body }) => ({ key, attempt, body }))).toEqual(
      steps.map((_, index) => ({ key: first!.key, attempt: `${index + 1}`, body: first!.body })),
    );
  });

  it('is repeated when an attempt takes too long', async () => {
    server.play('hang', CREATED);
    const response = await order(client({ attemptTimeout: 200 }));
    expect(response.status).toBe(201);
    expect(new Set(server.requests.map(({ key }) => key)).size).toBe(1);
  });

  it.each([400, 401, 402, 404, 409, 412, 422, 501])(
    'ends with %d at once if nothing was sent before',
    async (status) => {
      server.play({ status, body: { error: 'no' } });
      const response = await order(client());
      expect([response.status, await response.json()]).toEqual([status, { error: 'no' }]);
      expect(server.requests).toHaveLength(1);
    },
  );

  it.each<[string, Step]>([
    ['a recorded 500', { status: 500, headers: FINAL }],
    ['a replayed 503', { status: 503, headers: { 'idempotent-replayed': 'true' } }],
    ['a recorded 429', { status: 429, headers: FINAL }],
    [
      'a 500 that Stripe wants not repeated',
      { status: 500, headers: { 'stripe-should-retry': 'false' } },
    ],
  ])('ends with %s, because every retry would get the same', async (_what, step) => {
    server.play(step);
    const response = await order(client());
    expect(response.ok).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  it("ends with a 202 that is the application's own answer", async () => {
    server.play({ status: 202, headers: { location: '/jobs/1' }, body: { job: 1 } });
    const response = await order(client());
    expect(response.status).toBe(202);
    expect(server.requests).toHaveLength(1);
  });

  it.each(['GET', 'HEAD', 'OPTIONS'])('is left as it is if it is %s', async (method) => {
    server.play({ status: 503 });
    const response = await client()(`${server.url}/orders`, { method });
    expect(response.status).toBe(503);
    expect(server.requests).toMatchObject([{ key: undefined, attempt: undefined }]);
  });

  it.each<[string, IdempotentInit]>([
    ['idempotencyKey', { idempotencyKey: 'row-7' }],
    ['the header', { headers: { 'Idempotency-Key': 'row-7' } }],
  ])('takes a key of yours from %s', async (_where, init) => {
    server.play({ status: 503 }, CREATED);
    await order(client(), init);
    expect(server.requests.map(({ key }) => key)).toEqual(['row-7', 'row-7']);
  });

  it('has the headers that the options name', async () => {
    server.play(CREATED);
    await order(client({ header: 'X-Request-Key', attemptHeader: false }), { idempotencyKey: 'k' });
    expect(server.requests[0]!.headers).toMatchObject({ 'x-request-key': 'k' });
    expect(server.requests).toMatchObject([{ key: undefined, attempt: undefined }]);
  });

  it('is sent by a fetch of yours, by its address', async () => {
    server.play(CREATED);
    const sent: unknown[] = [];
    const fetch = (input: string | URL | Request, init?: RequestInit) => {
      sent.push(input);
      return globalThis.fetch(input, init);
    };
    await order(client({ fetch }));
    expect(sent).toEqual([`${server.url}/orders`]);
  });

  it('can be a Request', async () => {
    server.play({ status: 503 }, CREATED);
    const request = new Request(`${server.url}/orders`, { method: 'PUT', body: 'rocket' });
    expect((await client()(request)).status).toBe(201);
    expect(server.requests).toMatchObject([
      { method: 'PUT', body: 'rocket' },
      { method: 'PUT', body: 'rocket' },
    ]);
  });

  it('can have no body', async () => {
    server.play({ status: 503 }, CREATED);
    expect((await client()(new URL(`${server.url}/orders/1`), { method: 'DELETE' })).status).toBe(
      201,
    );
    expect(server.requests.map(({ method, body }) => method + body)).toEqual(['DELETE', 'DELETE']);
  });
});

describe('A body of the client', () => {
  const form = new FormData();
  form.set('item', 'rocket');
  form.set('file', new Blob(['bytes']), 'a.txt');

  it.each<[string, NonNullable<RequestInit['body']>, string]>([
    ['text', 'rocket', 'rocket'],
    ['bytes', new TextEncoder().encode('rocket'), 'rocket'],
    ['a Blob', new Blob(['rocket']), 'rocket'],
    ['a form', new URLSearchParams({ item: 'rocket' }), 'item=rocket'],
    ['a form with a file', form, 'rocket'],
  ])('can be %s, with the same bytes each time', async (_kind, body, text) => {
    server.play({ status: 503 }, 'reset', CREATED);
    await client()(server.url, { method: 'POST', body });
    const bodies = server.requests.map((request) => [
      request.body,
      request.headers['content-type'],
    ]);
    expect(bodies).toEqual([bodies[0], bodies[0], bodies[0]]);
    expect(bodies[0]![0]).toContain(text);
  });

  it.each<[string, () => unknown]>([
    ['a stream', () => new Blob(['rocket']).stream()],
    [
      'a generator',
      async function* () {
        yield 'rocket';
      },
    ],
  ])('cannot be %s, which could be sent only once', async (_kind, make) => {
    server.play(CREATED);
    const body = (typeof make === 'function' ? make() : make) as RequestInit['body'];
    const failure = await failureOf(
      client()(server.url, { method: 'POST', body, duplex: 'half' } as IdempotentInit),
    );
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain('cannot be sent again after a failure. Read it first');
    expect(server.requests).toEqual([]);
  });
});

describe('An outcome that stays unknown', () => {
  it('is an OutcomeUnknownError with the key and the last answer', async () => {
    server.play({ status: 503, body: { sorry: true } });
    const error = await failureOf(order(client({ retries: 2 })));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({
      name: 'OutcomeUnknownError',
      reason: 'retries',
      key: server.requests[0]!.key,
      attempts: 3,
    });
    expect(await (error as OutcomeUnknownError).response!.json()).toEqual({ sorry: true });
    expect(server.requests).toHaveLength(3);
  });

  it('has the error of the connection as its cause', async () => {
    server.play('reset');
    const error = await failureOf(order(client({ retries: 1 })));
    expect(error).toMatchObject({ reason: 'retries', response: undefined });
    expect((error as Error).cause).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
  });

  it.each([
    ['seconds', () => '3600'],
    ['a date', () => new Date(Date.now() + 3_600_000).toUTCString()],
  ])(
    'is told at once where Retry-After, in %s, is beyond the time that is left',
    async (_form, after) => {
      server.play({ status: 503, headers: { 'retry-after': after() } });
      expect(await failureOf(order(client()))).toMatchObject({ reason: 'timeout', attempts: 1 });
    },
  );

  it('is told where the server says that somebody has to look at it', async () => {
    server.play({ status: 409, body: { code: 'given_up' } });
    expect(await failureOf(order(client()))).toMatchObject({ reason: 'given_up', attempts: 1 });
  });

  it('is not taken for a refusal of the retry at the door', async () => {
    server.play('reset', { status: 401 });
    const error = await failureOf(order(client()));
    expect(error).toMatchObject({ name: 'OutcomeUnknownError', reason: 'refused' });
    expect((error as OutcomeUnknownError).response!.status).toBe(401);
    // It was asked once more: a server may keep the answer and mark replays only.
    expect(server.requests).toHaveLength(3);
  });

  it('is known if the refusal turns out to be on record', async () => {
    server.play(
      'reset',
      { status: 402 },
      { status: 402, headers: { 'idempotent-replayed': 'true' } },
    );
    expect((await order(client())).status).toBe(402);
  });

  it('is known if you say so, for servers that mark nothing', async () => {
    server.play('reset', { status: 402 });
    const isOutcome = ({ status }: Response) => (status === 402 ? true : undefined);
    expect((await order(client({ isOutcome }))).status).toBe(402);
    server.play({ status: 404 }, CREATED);
    const notYet = ({ status }: Response) => (status === 404 ? false : undefined);
    expect((await order(client({ isOutcome: notYet }))).status).toBe(201);
  });
});

describe('A signal', () => {
  it('ends the request, with its own reason', async () => {
    const controller = new AbortController();
    server.play(() => controller.abort(new Error('the user left')));
    await expect(order(client(), { signal: controller.signal })).rejects.toThrow('the user left');
  });

  it('ends a pause', async () => {
    const controller = new AbortController();
    server.play((_request, response) => {
      response
        .writeHead(503, { 'retry-after': '60' })
        .end(() => setImmediate(() => controller.abort()));
    });
    await expect(order(client(), { signal: controller.signal })).rejects.toThrow(/abort/);
    expect(server.requests).toHaveLength(1);
  });

  it('that has fired already sends nothing', async () => {
    server.play(CREATED);
    await expect(order(client(), { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
    expect(server.requests).toEqual([]);
  });
});

describe('The budget of retries', () => {
  it('is for all requests to a host, and grows again with outcomes', async () => {
    const send = client({ retries: 1 });
    server.play({ status: 503 });
    // 500 tokens, 14 for each retry.
    for (let spent = 0; spent < 35; spent++) {
      expect(await failureOf(order(send))).toMatchObject({ reason: 'retries', attempts: 2 });
    }
    expect(await failureOf(order(send))).toMatchObject({ reason: 'budget', attempts: 1 });
    const elsewhere = server.url.replace('127.0.0.1', 'localhost');
    const other = await failureOf(send(elsewhere, { method: 'POST' }));
    expect(other).toMatchObject({ reason: 'retries' });

    server.play(CREATED);
    for (let outcomes = 0; outcomes < 14; outcomes++) await order(send);
    server.play({ status: 503 }, CREATED);
    expect((await order(send)).status).toBe(201);
  });
});

describe('A named operation', () => {
  it('goes on with its key where an earlier call has left off', async () => {
    const keys = memoryKeys();
    server.play({ status: 503 });
    const error = await failureOf(order(client({ keys, retries: 1 }), { operation: 'order-1' }));
    expect(error).toMatchObject({ operation: 'order-1' });
    const { key } = error as OutcomeUnknownError;

    server.play(CREATED);
    await order(client({ keys }), { operation: 'order-1' });
    expect(server.requests).toMatchObject([{ key, attempt: '3' }]);
    // Forgotten with the outcome.
    await order(client({ keys }), { operation: 'order-1' });
    expect(server.requests[1]!.key).not.toBe(key);
  });

  it('is one operation for two calls at once', async () => {
    // Answered when both are there: the key of the first one is forgotten with its outcome.
    const waiting: ServerResponse[] = [];
    server.play((_request, response) => {
      waiting.push(response);
      if (waiting.length < 2) return;
      for (const each of waiting) each.writeHead(201, FINAL).end();
    });
    const send = client();
    await Promise.all([order(send, { operation: 'click' }), order(send, { operation: 'click' })]);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[0]!.key).toBe(server.requests[1]!.key);
  });

  it('refuses another request under its name, before it is sent', async () => {
    const send = client({ retries: 0 });
    server.play({ status: 503 });
    await failureOf(order(send, { operation: 'order-2' }));
    server.play(CREATED);
    const error = await failureOf(
      order(send, { operation: 'order-2', body: '{"item":"balloon"}' }),
    );
    expect(error).toBeInstanceOf(RequestRefusedError);
    expect(error).toMatchObject({ code: 'key_reused', operation: 'order-2', response: undefined });
    expect(String(error)).toContain('"order-2" was begun with another request. Use another name');
    expect(server.requests).toEqual([]);

    await send.forget('order-2');
    expect((await order(send, { operation: 'order-2', body: '{"item":"balloon"}' })).status).toBe(
      201,
    );
  });

  it('is the same for a form whose boundary differs', async () => {
    const send = client({ retries: 0 });
    const upload = () => {
      const body = new FormData();
      body.set('file', new Blob(['bytes']), 'a.txt');
      return send(server.url, { method: 'POST', body, operation: 'upload' });
    };
    server.play({ status: 503 });
    await failureOf(upload());
    server.play(CREATED);
    expect((await upload()).status).toBe(201);
  });

  it('keeps its key if the outcome could not be recorded', async () => {
    const send = client();
    server.play(CREATED);
    const seen: unknown[] = [];
    const record = async (outcome: Response) => {
      seen.push(await outcome.json());
      if (seen.length === 1) throw new Error('disk full');
    };
    await expect(order(send, { operation: 'order-3', record })).rejects.toThrow('disk full');
    const response = await order(send, { operation: 'order-3', record });
    expect(await response.json()).toEqual({ order: 1 });
    expect(seen).toEqual([{ order: 1 }, { order: 1 }]);
    expect(server.requests[1]!.key).toBe(server.requests[0]!.key);
  });

  it('does not send a key that the server may have forgotten', async () => {
    const keys = memoryKeys();
    const key = '018f0000-0000-7000-8000-000000000000';
    await keys.add('old', { key, fingerprint: '', attempts: 1, expires: Date.now() });
    server.play(CREATED);
    const error = await failureOf(order(client({ keys }), { operation: 'old' }));
    expect(error).toMatchObject({ name: 'OutcomeUnknownError', reason: 'expires', key });
    expect(server.requests).toEqual([]);
  });

  it('stops before the time that Idempotency-Key-Expires tells', async () => {
    const soon = () => new Date(Date.now() + 4_000).toUTCString();
    server.play((request, response) => {
      response.writeHead(201, { 'content-length': '100', 'idempotency-key-expires': soon() });
      response.write('{', () => request.socket.destroy());
    }, CREATED);
    expect(await failureOf(order(client(), { operation: 'cut' }))).toMatchObject({
      reason: 'expires',
      attempts: 1,
    });
    expect(server.requests).toHaveLength(1);
  });

  it('compares that time with the clock of the server', async () => {
    const day = 86_400_000;
    // A server whose clock is a day behind.
    server.play((request, response) => {
      response.writeHead(201, {
        'content-length': '100',
        date: new Date(Date.now() - day).toUTCString(),
        'idempotency-key-expires': new Date(Date.now() - day + 60_000).toUTCString(),
      });
      response.write('{', () => request.socket.destroy());
    }, CREATED);
    expect((await order(client())).status).toBe(201);
  });
});

describe('A server that is not there', () => {
  let gone: string;
  beforeEach(async () => {
    const nobody = await startScriptedServer();
    gone = nobody.url;
    await nobody.close();
  });

  it('is proof that nothing happened, where redirects are not followed', async () => {
    const keys = memoryKeys();
    const send = client({ keys, retries: 1 });
    const init = { method: 'POST', operation: 'to-nobody', redirect: 'manual' } as const;
    const error = await failureOf(send(gone, init));
    expect(error).toBeInstanceOf(NotExecutedError);
    expect(error).toMatchObject({ attempts: 2, operation: 'to-nobody' });
    const next = await failureOf(send(gone, init));
    expect((next as NotExecutedError).key).not.toBe((error as NotExecutedError).key);
  });

  it('is no proof after a redirect, which may have been the answer to the request', async () => {
    server.play({ status: 303, headers: { location: gone } });
    expect(await failureOf(order(client({ retries: 1 })))).toBeInstanceOf(OutcomeUnknownError);
  });

  it('is no proof if an earlier request may have arrived', async () => {
    const leaving = await startScriptedServer();
    leaving.play((request) => void leaving.close().then(() => request.socket.destroy()));
    const sent = client({ retries: 2 })(leaving.url, { method: 'POST', redirect: 'manual' });
    expect(await failureOf(sent)).toBeInstanceOf(OutcomeUnknownError);
  });
});
