import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  createIdempotentFetch,
  resultOf,
  type IdempotentInit,
} from 'nestjs-atomic-idempotency/client';
import { describePhases } from '../support/phase-app.js';
import { startScriptedServer, type ScriptedServer, type Step } from './scripted-server.js';

const FINAL = { 'idempotency-key-expires': new Date(Date.now() + 3_600_000).toUTCString() };
const CREATED: Step = { status: 201, headers: FINAL, body: { charge: 1 } };

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());

const send = createIdempotentFetch({ minDelay: 1, maxDelay: 2, retries: 2 });
/** Every call of these tests: nothing in it knows of phases. */
const charge = async (init: IdempotentInit = {}) =>
  resultOf<{ charge: number }>(await send(server.url, { method: 'POST', body: 'charge', ...init }));

describePhases(
  'A client in a foreign phase',
  (app) => {
    const foreign = (inDoubt: 'repeat' | 'stop' = 'repeat') =>
      app.handle('charge', (phases) =>
        phases.foreign('charged', { inDoubt, call: () => charge() }),
      );

    it('uses the effect key, in all its attempts, which are one call', async () => {
      foreign();
      server.play({ status: 503 }, 'reset', CREATED);
      const answer = await app.post('charge', 'one-call');
      expect([answer.status, answer.json()]).toEqual([201, { charge: 1 }]);
      const [phase] = await app.phases('one-call');
      expect(phase).toMatchObject({ state: 'finished' });
      expect(server.requests.map(({ key, attempt }) => [key, attempt])).toEqual(
        ['1', '2', '3'].map((attempt) => [phase!.effect_key, attempt]),
      );
    });

    it('goes on under it after a crash', async () => {
      foreign();
      server.play(CREATED);
      await app.crash('charged:after_call', 'charge', 'crashed');
      expect((await app.post('charge', 'crashed')).status).toBe(201);
      const [first, second] = server.requests;
      expect(second).toMatchObject({ key: first!.key, attempt: '2' });
    });

    it('uses keys of its own outside of phases, and where you give it one', async () => {
      app.handle('given', (phases) =>
        phases.foreign('given', { call: () => charge({ idempotencyKey: 'mine' }) }),
      );
      app.handle('unprotected', (phases) => phases.unprotected(() => charge()));
      server.play(CREATED);
      await app.post('given', 'given');
      await app.post('unprotected', 'unprotected');
      expect(server.requests[0]!.key).toBe('mine');
      expect(server.requests[1]!.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    });

    it('makes a 4xx the definite no of the phase, also on a resume', async () => {
      app.handle('declined', async (phases) => {
        await phases.local('begun', async () => undefined);
        return phases.foreign('charged', { call: () => charge() });
      });
      server.play({ status: 402, body: { message: 'declined' } });
      await app.crash('recording:before', 'declined', 'declined');
      expect((await app.phases('declined'))[1]).toMatchObject({ state: 'rejected' });
      server.play(CREATED);
      const answer = await app.post('declined', 'declined');
      expect([answer.status, answer.json()]).toEqual([402, { message: 'declined' }]);
      expect(server.requests).toEqual([]);
    });

    it('withdraws the intent where the server was not reached', async () => {
      const nobody = await startScriptedServer();
      await nobody.close();
      app.handle('gone', (phases) =>
        phases.foreign('charged', {
          call: async () => resultOf(await send(nobody.url, { method: 'POST' })),
        }),
      );
      expect((await app.post('gone', 'gone')).status).toBe(500);
      expect(await app.phases('gone')).toMatchObject([{ state: 'withdrawn' }]);
    });

    it('withdraws it where the server refuses the key before anybody has looked at it', async () => {
      foreign('stop');
      server.play({ status: 403, body: { code: 'scope_missing' } });
      await app.post('charge', 'refused');
      expect(await app.phases('refused')).toMatchObject([{ state: 'withdrawn' }]);
    });

    it.each<[string, Step]>([
      ['fails each time', { status: 503 }],
      ['does not know the outcome', { status: 409, body: { code: 'outcome_unknown' } }],
      ['has seen the key with another request', { status: 422, body: { code: 'key_reused' } }],
      ['has not kept the answer', { status: 410, body: { code: 'response_unavailable' } }],
      ['answers with a redirect', { status: 303, headers: { location: '/elsewhere' } }],
    ])('leaves the phase in doubt where the server %s', async (what, step) => {
      foreign('stop');
      server.play(step);
      const key = what.replaceAll(' ', '-');
      const answer = await app.post('charge', key);
      expect(answer.json()).toMatchObject({ code: 'outcome_unknown' });
      expect(await app.phases(key)).toMatchObject([{ state: 'intended' }]);
    });

    it('does not take a refusal at the door for a no, where an earlier call may have arrived', async () => {
      foreign();
      server.play(CREATED);
      await app.crash('charged:after_call', 'charge', 'door');
      server.play({ status: 401 });
      expect((await app.post('charge', 'door')).status).toBe(500);
      expect(await app.phases('door')).toMatchObject([{ state: 'intended' }]);
      server.play(CREATED);
      expect((await app.post('charge', 'door')).status).toBe(201);
    });

    it('refuses a second request, which would need a key of its own', async () => {
      app.handle('twice', (phases) =>
        phases.foreign('charged', {
          call: async () => [await charge(), await charge({ body: 'another' })],
        }),
      );
      server.play(CREATED);
      await app.post('twice', 'twice');
      expect(app.logs.join()).toContain('A foreign phase is one call. Give each its own phase.');
      expect(server.requests).toHaveLength(1);
    });

    it('is found by another copy of the client', async () => {
      // As CommonJS and ES modules in one process are: what they share is the global object.
      const name = 'nestjs-atomic-idempotency/client?copy';
      const copy: typeof import('nestjs-atomic-idempotency/client') = await import(name);
      expect(copy.createIdempotentFetch).not.toBe(createIdempotentFetch);
      const other = copy.createIdempotentFetch();
      app.handle('copy', (phases) =>
        phases.foreign('charged', {
          call: async () => copy.resultOf(await other(server.url, { method: 'POST' })),
        }),
      );
      server.play({ status: 402, body: { message: 'declined' } });
      expect((await app.post('copy', 'copy')).status).toBe(402);
      const [phase] = await app.phases('copy');
      expect(phase).toMatchObject({ state: 'rejected', effect_key: server.requests[0]!.key });
    });
  },
  { idempotency: { foreignCalls: 'throw' } },
);
