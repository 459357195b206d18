import { ConflictException, type LoggerService } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { AtomicPhase, IdempotencyOperator } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { crashIn } from '../support/crash.js';
import { send } from '../support/http.js';
import { keyRow, lapse } from '../support/idempotent-app.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { BankPayment, CardPayment, startShop, type DriverName, type Shop } from './shop.js';

const CREATE = `mutation ($input: OrderInput!) {
  createOrder(input: $input) { id item createdAt state total note label dated lines { sku order { id label } } }
}`;
const BRIEF = 'mutation ($input: OrderInput!) { createOrder(input: $input) { id } }';
const SHIP = 'mutation { ship(item: "tea") }';

describe('Idempotent mutations', () => {
  describe('with Apollo', () => {
    onEachPlatform((platform) => tests(platform, 'apollo'));
  });
  describe('with Mercurius', () => {
    onEachPlatform((platform) => tests(platform, 'mercurius'), ['fastify']);
  });
});

function tests(platform: Platform, driver: DriverName) {
  let shop: Shop;
  const logs: string[] = [];
  beforeAll(async () => {
    shop = await startShop(platform, driver, {
      logger: collect(logs),
      idempotency: {
        limits: (scope) => (scope === 'limited' ? { newKeysPerSecond: 0.001, burst: 1 } : {}),
      },
      driverOptions: { allowBatchedHttpRequests: true, allowBatchedQueries: true },
    });
  });
  afterAll(() => shop?.close());
  beforeEach(() => {
    logs.length = 0;
    shop.desk.runs = 0;
    shop.desk.work = ({ item }) => shop.desk.order(item);
  });

  const replayed = ({ headers }: { headers: Headers }) => headers.get('idempotent-replayed');
  const refused = (code: string, more = {}) => [
    expect.objectContaining({ extensions: expect.objectContaining({ code, ...more }) }),
  ];

  describe('data', () => {
    it('is the same for every retry', async () => {
      const variables = { input: { item: 'tea' } };
      const first = await shop.mutate(CREATE, { key: 'once', variables });
      expect(first).toMatchObject({
        status: 200,
        errors: undefined,
        data: {
          createOrder: {
            id: '1',
            createdAt: '2026-01-01T00:00:00.000Z',
            state: 'Paid',
            total: String(2n ** 60n + 1n),
            note: null,
            label: 'tea (1)',
            dated: 'tea (1) of 2026',
            lines: [{ sku: 'tea-1', order: { id: '1', label: 'tea (1)' } }],
          },
        },
      });
      expect(replayed(first)).toBeNull();
      const retry = await shop.mutate(CREATE, { key: 'once', variables });
      expect(retry.data).toEqual(first.data);
      expect(replayed(retry)).toBe('true');
      expect(shop.desk.runs).toBe(1);
      expect(await shop.records('once')).toEqual({ 'MUTATION createOrder': 'completed' });
    });

    it('may be asked for with other fields in a retry', async () => {
      const variables = { input: { item: 'tea' } };
      await shop.mutate(BRIEF, { key: 'fields', variables });
      const retry = await shop.mutate(CREATE, { key: 'fields', variables });
      expect(retry.data.createOrder).toMatchObject({ id: '1', dated: 'tea (1) of 2026' });
      expect(shop.desk.runs).toBe(1);
    });

    it('keeps the classes by which unions and interfaces are told apart', async () => {
      const PAY = `mutation { pay(amount: 7) { __typename ... on CardPayment { last4 } ... on BankPayment { iban } } }`;
      const REFUND = `mutation { refund(amount: 7) { __typename amount } }`;
      shop.desk.work = (amount) => [
        Object.assign(new CardPayment(), { amount, last4: '4242' }),
        Object.assign(new BankPayment(), { amount, iban: 'DE75' }),
      ];
      const pay = [
        await shop.mutate(PAY, { key: 'union' }),
        await shop.mutate(PAY, { key: 'union' }),
      ];
      shop.desk.work = (amount) => Object.assign(new BankPayment(), { amount, iban: 'DE75' });
      const refund = [
        await shop.mutate(REFUND, { key: 'union' }),
        await shop.mutate(REFUND, { key: 'union' }),
      ];
      for (const { data } of pay) {
        expect(data.pay).toEqual([
          { __typename: 'CardPayment', last4: '4242' },
          { __typename: 'BankPayment', iban: 'DE75' },
        ]);
      }
      for (const { data } of refund) {
        expect(data.refund).toEqual({ __typename: 'BankPayment', amount: 7 });
      }
      expect(shop.desk.runs).toBe(2);
    });

    it.each([null, undefined])('may be %s', async (value) => {
      const key = `empty ${value}`.replace(' ', '-');
      shop.desk.work = () => value;
      for (let call = 1; call <= 2; call++) {
        const { data, errors } = await shop.mutate(BRIEF, {
          key,
          variables: { input: { item: 'x' } },
        });
        expect({ data, errors }).toEqual({ data: { createOrder: null }, errors: undefined });
      }
      expect(shop.desk.runs).toBe(1);
    });

    it('that cannot be kept is not made twice', async () => {
      shop.desk.work = () => ({ item: new Map() });
      const variables = { input: { item: 'x' } };
      const first = await shop.mutate(BRIEF, { key: 'unkept', variables });
      expect(first.errors![0]!.message).toMatch(
        /The result of OrdersResolver.createOrder cannot be kept for a replay: a Map is no plain data/,
      );
      const retry = await shop.mutate(BRIEF, { key: 'unkept', variables });
      expect(retry.errors).toEqual(refused('response_unavailable', { original_status: 200 }));
      expect(shop.desk.runs).toBe(1);
    });

    it('is what an operator completed it with', async () => {
      await crashIn('recording:before', () =>
        shop.mutate('mutation { cancel(id: "1") }', { key: 'by-hand' }),
      );
      await lapse(shop.database, 'by-hand');
      const unknown = await shop.mutate('mutation { cancel(id: "1") }', { key: 'by-hand' });
      expect(unknown.errors).toEqual(
        refused('outcome_unknown', { retryable: true, retryAfter: expect.any(Number) }),
      );
      const { id } = await keyRow(shop.database, 'by-hand');
      await shop.app
        .get(IdempotencyOperator)
        .resolveKey(
          id as string,
          { outcome: 'completed', answer: { status: 200, body: '"cancelled by hand"' } },
          { who: 'ada' },
        );
      const retry = await shop.mutate('mutation { cancel(id: "1") }', { key: 'by-hand' });
      expect(retry.data).toEqual({ cancel: 'cancelled by hand' });
    });
  });

  describe('records', () => {
    const TWO = `mutation {
      one: createOrder(input: { item: "tea" }) { id item }
      other: createOrder(input: { item: "milk" }) { id item }
      ship(item: "tea")
    }`;

    it('are one for each root field, also for one field under two names', async () => {
      shop.desk.work = (input) => (input.item ? shop.desk.order(input.item) : `sent ${input}`);
      const first = await shop.mutate(TWO, { key: 'two' });
      expect(first.data).toEqual({
        one: { id: '1', item: 'tea' },
        other: { id: '2', item: 'milk' },
        ship: 'sent tea',
      });
      expect(await shop.records('two')).toEqual({
        'MUTATION createOrder': 'completed',
        'MUTATION createOrder 2': 'completed',
        'MUTATION ship': 'completed',
      });
      const retry = await shop.mutate(TWO, { key: 'two' });
      expect(retry.data).toEqual(first.data);
      expect(replayed(retry)).toBe('true');

      const renamed = TWO.replace('one:', 'a:').replace('other:', 'b:');
      expect((await shop.mutate(renamed, { key: 'two' })).data).toMatchObject({
        a: { id: '1' },
        b: { id: '2' },
      });
      expect(shop.desk.runs).toBe(3);

      const half = 'mutation { other: createOrder(input: { item: "milk" }) { id } }';
      expect((await shop.mutate(half, { key: 'two' })).errors).toEqual(
        refused('key_reused', { retryable: false }),
      );
      expect(shop.desk.runs).toBe(3);
      expect(logs).toEqual([expect.stringMatching(/Idempotency-Key was used before/)]);
    });

    it('are found through fragments and skipped fields', async () => {
      const document = `mutation ($first: Boolean!) {
        ...All
        ... on Mutation { last: createOrder(input: { item: "c" }) { item } }
      }
      fragment All on Mutation {
        a: createOrder(input: { item: "a" }) @include(if: $first) { item }
        b: createOrder(input: { item: "b" }) { item }
        b: createOrder(input: { item: "b" }) { id }
      }`;
      await shop.mutate(document, { key: 'fragments', variables: { first: false } });
      expect(shop.desk.runs).toBe(2);
      const all = await shop.mutate(document, { key: 'fragments', variables: { first: true } });
      expect(all.data).toMatchObject({ a: { item: 'a' }, b: { item: 'b' }, last: { item: 'c' } });
      expect(shop.desk.runs).toBe(3);
      // One of them was run.
      expect(replayed(all)).toBeNull();
    });

    it('do not care how the arguments are written', async () => {
      const literal = `mutation { createOrder(input: { quantity: 1, due: "2026-02-03T00:00:00Z", item: "tea" }) { id } }`;
      await shop.mutate(literal, { key: 'written' });
      const variables = { input: { item: 'tea', due: '2026-02-03T00:00:00.000Z' } };
      expect((await shop.mutate(BRIEF, { key: 'written', variables })).errors).toBeUndefined();
      expect(shop.desk.runs).toBe(1);

      const other = { input: { item: 'tea', due: '2026-02-04T00:00:00.000Z' } };
      const mismatch = await shop.mutate(BRIEF, { key: 'written', variables: other });
      expect(mismatch.status).toBe(200);
      expect(mismatch.errors![0]).toMatchObject({
        message: expect.stringMatching(/used before/),
        path: ['createOrder'],
        extensions: { code: 'key_reused', title: 'Idempotency-Key is already used' },
      });
    });

    it('are limited in their scope, and retries are not', async () => {
      const variables = { input: { item: 'tea' } };
      const headers = { 'x-user': 'limited' };
      const first = await shop.mutate(BRIEF, { key: 'limited-1', variables, headers });
      const second = await shop.mutate(BRIEF, { key: 'limited-2', variables, headers });
      expect(second).toMatchObject({
        status: 200,
        errors: refused('rate_limited', { limit: 'newKeysPerSecond', retryAfter: 59 }),
      });
      expect(await shop.records('limited-2')).toEqual({});
      const retry = await shop.mutate(BRIEF, { key: 'limited-1', variables, headers });
      expect(retry.data).toEqual(first.data);
      expect(shop.desk.runs).toBe(1);
    });

    it('are those of their scope', async () => {
      const variables = { input: { item: 'tea' } };
      for (const user of ['ada', 'bob', 'bob']) {
        await shop.mutate(BRIEF, { key: 'scoped', variables, headers: { 'x-user': user } });
      }
      expect(shop.desk.runs).toBe(2);
      const nobody = await shop.mutate(BRIEF, {
        key: 'scoped',
        variables,
        headers: { 'x-user': '' },
      });
      expect(nobody.errors).toEqual(refused('scope_missing'));
      const denied = await shop.mutate(BRIEF, {
        key: 'scoped',
        variables,
        headers: { 'x-user': 'mallory' },
      });
      expect(denied.errors![0]!.message).toBe('Forbidden resource');
      expect(shop.desk.runs).toBe(2);
    });

    it('are given back if a pipe refuses the arguments', async () => {
      const variables = { input: { item: 'tea', quantity: 0 } };
      const first = await shop.mutate(BRIEF, { key: 'corrected', variables });
      expect(first.errors).toHaveLength(1);
      expect(await shop.records('corrected')).toEqual({});
      variables.input.quantity = 1;
      const second = await shop.mutate(BRIEF, { key: 'corrected', variables });
      expect(second.data).toEqual({ createOrder: { id: '1' } });
    });

    it('of a resolver that is made for each request', async () => {
      for (let call = 1; call <= 2; call++) {
        const { data } = await shop.mutate('mutation { cancel(id: "7") }', { key: 'per-request' });
        expect(data).toEqual({ cancel: '7 symbol' });
      }
      expect(shop.desk.runs).toBe(1);
    });
  });

  describe('keys', () => {
    it('may be an argument, which is for its own call only', async () => {
      shop.desk.work = ({ reference, text }) => `${reference}: ${text}`;
      const first = await shop.mutate(
        'mutation { a: remind(reference: "r1", text: "x") b: remind(reference: "r2", text: "x") }',
      );
      expect(first.data).toEqual({ a: 'r1: x', b: 'r2: x' });
      const alone = await shop.mutate('mutation { remind(reference: "r2", text: "x") }');
      expect(alone.data).toEqual({ remind: 'r2: x' });
      expect(replayed(alone)).toBe('true');
      expect(shop.desk.runs).toBe(2);
      const { request_body: kept, ...row } = await keyRow(shop.database, 'r2');
      expect(row).toMatchObject({ endpoint: 'MUTATION remind' });
      expect(JSON.stringify({ kept, row })).toContain('"text');
    });

    it.each([
      ['', 'key_missing'],
      ['k'.repeat(256), 'key_invalid'],
    ])('that are arguments are checked (%#)', async (reference, code) => {
      const document =
        'mutation ($reference: String!) { remind(reference: $reference, text: "x") }';
      const { errors } = await shop.mutate(document, { variables: { reference } });
      expect(errors).toEqual(refused(code, { retryable: false }));
      expect(shop.desk.runs).toBe(0);
    });

    it.each([
      [undefined, 'key_missing'],
      ['a b', 'key_invalid'],
    ])('in the header are checked (%s)', async (key, code) => {
      const { errors, status } = await shop.mutate(BRIEF, {
        key,
        variables: { input: { item: 'tea' } },
      });
      expect(status).toBe(200);
      expect(errors).toEqual(refused(code));
      expect(shop.desk.runs).toBe(0);
      expect(logs).toEqual([]);
    });

    it('may be left out where they are not required', async () => {
      shop.desk.work = (item) => item;
      for (let call = 1; call <= 2; call++) {
        expect((await shop.mutate(SHIP)).data).toEqual({ ship: 'tea' });
      }
      expect(shop.desk.runs).toBe(2);
    });

    it('in the header of a batch are refused, because it has several operations', async () => {
      const operation = { query: 'mutation { createOrder(input: { item: "tea" }) { id } }' };
      const answered = await send(`${shop.url}/graphql`, {
        key: 'batch',
        body: [operation, operation],
      });
      for (const { errors } of answered.json<{ errors: unknown }[]>()) {
        expect(errors).toEqual(refused('key_invalid'));
      }
      expect(shop.desk.runs).toBe(0);

      shop.desk.work = ({ reference }) => reference;
      const remind = { query: 'mutation { remind(reference: "batched", text: "x") }' };
      const alike = await send(`${shop.url}/graphql`, { body: [remind] });
      expect(alike.json()).toEqual([{ data: { remind: 'batched' } }]);
      const batch = await send(`${shop.url}/graphql`, { body: [remind, remind] });
      expect(batch.json()).toEqual([
        { data: { remind: 'batched' } },
        { data: { remind: 'batched' } },
      ]);
      expect(shop.desk.runs).toBe(1);
    });
  });

  describe('errors', () => {
    const fail = async (key: string, error: () => unknown) => {
      shop.desk.work = () => {
        throw error();
      };
      const variables = { input: { item: 'tea' } };
      const first = await shop.mutate(BRIEF, { key, variables });
      const retry = await shop.mutate(BRIEF, { key, variables });
      expect(retry.errors).toEqual(first.errors);
      expect(retry.status).toBe(first.status);
      return { first, retry };
    };

    it('are replayed with their extensions', async () => {
      const { first, retry } = await fail(
        'declined',
        () =>
          new GraphQLError('Your card was declined.', {
            extensions: { code: 'CARD_DECLINED', declineCode: 'insufficient_funds' },
          }),
      );
      expect(first.errors).toEqual([
        expect.objectContaining({
          message: 'Your card was declined.',
          extensions: { code: 'CARD_DECLINED', declineCode: 'insufficient_funds' },
        }),
      ]);
      expect(replayed(retry)).toBe('true');
      expect(shop.desk.runs).toBe(1);
    });

    it('of HTTP are replayed as the driver shows them', async () => {
      const { first } = await fail('conflict', () => new ConflictException('Paid already.'));
      expect(first.errors![0]!.message).toBe('Paid already.');
      expect(shop.desk.runs).toBe(1);
    });

    it('that are returned count as those that are thrown', async () => {
      shop.desk.work = () => new GraphQLError('No.', { extensions: { code: 'NO' } });
      const variables = { input: { item: 'tea' } };
      for (let call = 1; call <= 2; call++) {
        const { errors } = await shop.mutate(BRIEF, { key: 'returned', variables });
        expect(errors).toEqual(refused('NO'));
      }
      expect(shop.desk.runs).toBe(1);
    });

    it.each([
      ['without a code', () => new Error('broken')],
      ['of GraphQL without a code', () => new GraphQLError('broken')],
      [
        'that ask for another attempt',
        () => new GraphQLError('later', { extensions: { code: 'TOO_MANY_REQUESTS' } }),
      ],
      [
        'with a status of 5xx',
        () => new GraphQLError('down', { extensions: { code: 'DOWN', http: { status: 503 } } }),
      ],
    ])('%s are not the end: a retry runs', async (what, error) => {
      await fail(what.replaceAll(' ', '-'), error);
      expect(shop.desk.runs).toBe(2);
    });
  });

  describe('attempts', () => {
    it('that still run refuse a retry, or have it wait', async () => {
      const gate = barrier();
      shop.desk.work = async (input) => {
        await gate.pass();
        return typeof input === 'string' ? `sent ${input}` : shop.desk.order('tea');
      };
      const variables = { input: { item: 'tea' } };
      const first = shop.mutate(BRIEF, { key: 'running', variables });
      await gate.arrived();
      const second = await shop.mutate(BRIEF, { key: 'running', variables });
      expect(second.errors).toEqual(refused('in_progress', { retryable: true, retryAfter: 1 }));
      gate.open();
      expect((await first).data).toEqual({ createOrder: { id: '1' } });

      const other = barrier();
      shop.desk.work = async (item) => {
        await other.pass();
        return `sent ${item}`;
      };
      const shipping = shop.mutate(SHIP, { key: 'waiting' });
      await other.arrived();
      const waiting = shop.mutate(SHIP, { key: 'waiting' });
      other.open();
      for (const { data } of await Promise.all([shipping, waiting])) {
        expect(data).toEqual({ ship: 'sent tea' });
      }
      expect(shop.desk.runs).toBe(2);
    });

    it('that died are resumed at the last phase', async () => {
      const calls: string[] = [];
      let locals = 0;
      shop.desk.work = async (item: string, phases: AtomicPhase) => {
        const parcel = await phases.local('packed', async () => ({ number: ++locals }));
        await phases.foreign('handed_over', {
          inDoubt: 'repeat',
          call: async ({ idempotencyKey }) => void calls.push(idempotencyKey),
        });
        return `${item} ${parcel.number}`;
      };
      await crashIn('handed_over:after_call', () => shop.mutate(SHIP, { key: 'died' }));
      await lapse(shop.database, 'died');
      expect((await shop.mutate(SHIP, { key: 'died' })).data).toEqual({ ship: 'tea 1' });
      expect(locals).toBe(1);
      expect(new Set(calls).size).toBe(1);
      expect(calls).toHaveLength(2);
    });
  });

  it('do not change what is not decorated', async () => {
    for (let call = 1; call <= 2; call++) {
      const { data } = await shop.mutate('mutation { unprotected }', { key: 'plain' });
      expect(data).toEqual({ unprotected: call });
    }
  });
}

function collect(logs: string[]): LoggerService {
  const keep = (message: unknown) => void logs.push(String(message));
  return { log: () => undefined, warn: keep, error: keep, fatal: keep };
}
