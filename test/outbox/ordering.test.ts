import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { untilBlocked } from '../support/transactions.js';
import { until } from '../support/until.js';
import { makeDue, message, messages } from './messages.js';
import { startOutboxApp, working, type OutboxApp } from './outbox-app.js';

const MOST = 2;

let web: OutboxApp;
let worker: OutboxApp;
const delivered: string[] = [];
const broken = new Set<string>();
const gates = new Map<string, Barrier>();

beforeAll(async () => {
  web = await startOutboxApp();
  worker = await startOutboxApp({
    database: web.database,
    handlers: {
      orders: async ({ payload }) => {
        await gates.get(payload)?.pass();
        if (broken.has(payload)) throw new Error('no');
        delivered.push(payload);
      },
    },
    idempotency: { outbox: { maxAttempts: MOST } },
  });
});
beforeEach(async () => {
  await web.database.query('TRUNCATE idempotency_outbox');
  delivered.length = 0;
  broken.clear();
  gates.clear();
});

const add = (order: string, orderingKey?: string) =>
  web.add('orders', order, orderingKey === undefined ? {} : { orderingKey });

describe('Messages with one ordering key', () => {
  it('are delivered one after another, in their order', async () => {
    for (const order of ['a1', 'a2', 'a3']) await add(order, 'a');
    for (const expected of [['a1'], ['a1', 'a2'], ['a1', 'a2', 'a3']]) {
      expect(await worker.deliver()).toBe(1);
      expect(delivered).toEqual(expected);
    }
    expect(await worker.deliver()).toBe(0);
  });

  it('wait while the first of them is being delivered, however overdue they are', async () => {
    gates.set('a1', barrier());
    await add('a1', 'a');
    await add('a2', 'a');
    const first = worker.deliver();
    await gates.get('a1')!.arrived();
    const other = await startOutboxApp({
      database: web.database,
      handlers: { orders: ({ payload }) => void delivered.push(payload) },
    });
    expect(await other.deliver()).toBe(0);
    gates.get('a1')!.open();
    await first;
    expect(await other.deliver()).toBe(1);
    expect(delivered).toEqual(['a1', 'a2']);
    await other.close();
  });

  it('follow each other without a pause', async () => {
    const quick = await startOutboxApp({
      database: web.database,
      handlers: { orders: ({ payload }) => void delivered.push(payload) },
      // Only wake-ups: no look comes by itself within this test.
      idempotency: working({ interval: '1h' }),
    });
    const orders = Array.from({ length: 20 }, (_, index) => `a${index}`);
    await quick.dataSource.transaction(async (tx) => {
      for (const order of orders) await quick.outbox.add(tx, 'orders', order, { orderingKey: 'a' });
    });
    await until(() => delivered.length === orders.length);
    expect(delivered).toEqual(orders);
    await quick.close();
  });

  it('wait for one that fails, and delay no others', async () => {
    broken.add('a1');
    const first = await add('a1', 'a');
    for (const order of ['a2', 'a3']) await add(order, 'a');
    await add('b1', 'b');
    await add('free');
    expect(await worker.deliver()).toBe(3); // a1, b1 and the free one
    expect(delivered.toSorted()).toEqual(['b1', 'free']);
    expect(await worker.deliver()).toBe(0);

    broken.clear();
    await makeDue(web.database, first);
    while ((await worker.deliver()) > 0);
    expect(delivered.slice(2)).toEqual(['a1', 'a2', 'a3']);
  });

  it('wait for one that is delayed', async () => {
    const first = await web.add('orders', 'a1', { orderingKey: 'a', delay: '1h' });
    await add('a2', 'a');
    expect(await worker.deliver()).toBe(0);
    await makeDue(web.database, first);
    while ((await worker.deliver()) > 0);
    expect(delivered).toEqual(['a1', 'a2']);
  });

  it('do not wait for a dead letter, which comes last when it is requeued', async () => {
    broken.add('a1');
    const first = await add('a1', 'a');
    for (const order of ['a2', 'a3']) await add(order, 'a');
    for (let attempt = 1; attempt <= MOST; attempt += 1) {
      await makeDue(web.database, first);
      expect(await worker.deliver()).toBe(1);
    }
    expect(await web.outbox.deadLetters()).toMatchObject([{ id: first, orderingKey: 'a' }]);

    // Its successor is on its way: the two must not meet.
    gates.set('a2', barrier());
    const second = worker.deliver();
    await gates.get('a2')!.arrived();
    expect(await web.outbox.requeue(first, 'ops')).toBe(true);
    broken.clear();
    expect((await messages(web.database)).map(({ payload }) => payload)).toEqual([
      'a2',
      'a3',
      'a1',
    ]);
    expect(await message(web.database, first)).toMatchObject({ attempts: 0, lease_token: null });
    gates.get('a2')!.open();
    await second;
    while ((await worker.deliver()) > 0);
    expect(delivered).toEqual(['a2', 'a3', 'a1']);
  });
});

describe('Transactions that add messages for one ordering key', () => {
  it('wait for each other, so that the order is that of their commits', async () => {
    const { dataSource, outbox, database } = web;
    const added = barrier();
    const first = dataSource.transaction(async (tx) => {
      await outbox.add(tx, 'orders', 'a1', { orderingKey: 'a' });
      await added.pass();
    });
    await added.arrived();
    const second = add('a2', 'a');
    await untilBlocked(database, 1);
    // Other keys, and messages without one, are not concerned.
    await add('b1', 'b');
    await add('free');
    added.open();
    await Promise.all([first, second]);

    while ((await worker.deliver()) > 0);
    expect(delivered.filter((order) => order.startsWith('a'))).toEqual(['a1', 'a2']);
  });
});
