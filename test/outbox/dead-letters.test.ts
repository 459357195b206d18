import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeDue, messages } from './messages.js';
import { startOutboxApp, working, type OutboxApp } from './outbox-app.js';

const MOST = 3;

let database: TestDatabase;
let web: OutboxApp;
let worker: OutboxApp;
const deliveries: { id: string; attempt: number }[] = [];
let broken = true;

beforeAll(async () => {
  database = await createTestDatabase();
  web = await startOutboxApp({ database });
  worker = await startOutboxApp({
    database,
    handlers: {
      orders: ({ id, attempt }) => {
        deliveries.push({ id, attempt });
        if (broken) throw new Error(`no, for the ${attempt}. time`);
      },
    },
    idempotency: { outbox: { maxAttempts: MOST } },
  });
});
beforeEach(async () => {
  await database.query('TRUNCATE idempotency_outbox');
  deliveries.length = 0;
  broken = true;
});
afterAll(async () => {
  await Promise.all([web.close(), worker.close()]);
  await database.drop();
});

async function deliverToDeath(id: string): Promise<void> {
  for (let attempt = 1; attempt <= MOST; attempt += 1) {
    await makeDue(database, id);
    expect(await worker.deliver()).toBe(1);
  }
}

async function deadLetter(): Promise<string> {
  const id = await web.add('orders', { order: 1 });
  await deliverToDeath(id);
  return id;
}

function auditOf(of: TestDatabase, message: string): Promise<object[]> {
  return of.query(
    `SELECT scope, key_id, action, who, why, before, after
     FROM idempotency_audit WHERE message_id = $1 ORDER BY id`,
    [message],
  );
}

describe('A message that fails too often', () => {
  it('becomes a dead letter: it is kept with its last error, and not delivered any more', async () => {
    const id = await deadLetter();
    expect(await worker.deliver()).toBe(0);
    expect(deliveries).toEqual([1, 2, 3].map((attempt) => ({ id, attempt })));
    expect(await web.outbox.deadLetters()).toEqual([
      {
        scope: '',
        id,
        keyId: undefined,
        topic: 'orders',
        payload: { order: 1 },
        orderingKey: undefined,
        attempts: MOST,
        lastError: expect.stringContaining(`no, for the ${MOST}. time`),
        createdAt: expect.any(Date),
        deadAt: expect.any(Date),
      },
    ]);
    expect(worker.logger.errors.filter((text) => text.includes(id))).toEqual([
      expect.stringMatching(/"orders" is a dead letter/),
    ]);
  });

  it('can be requeued under the same id, with all its attempts', async () => {
    const id = await deadLetter();
    expect(await web.outbox.requeue(id, 'ops')).toBe(true);
    expect(await web.outbox.deadLetters()).toEqual([]);
    expect(await web.outbox.requeue(id, 'ops')).toBe(false); // it is none any more
    deliveries.length = 0;
    await deliverToDeath(id);
    expect(deliveries).toEqual([1, 2, 3].map((attempt) => ({ id, attempt })));
    expect(await web.outbox.deadLetters()).toMatchObject([{ id, attempts: MOST }]);

    await web.outbox.requeue(id, 'ops');
    broken = false;
    expect(await worker.deliver()).toBe(1);
    expect(await messages(database)).toEqual([]);
  });

  it('is found by topic and id, the oldest dead letter first, a limited number at a time', async () => {
    const ids = [await deadLetter(), await deadLetter(), await deadLetter()];
    const found = async (find: object) =>
      (await web.outbox.deadLetters(find)).map((letter) => letter.id);
    expect(await found({})).toEqual(ids);
    expect(await found({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await found({ topic: 'orders' })).toEqual(ids);
    expect(await found({ topic: 'mails' })).toEqual([]);
    expect(await found({ ids: [ids[1]!, randomUUID(), 'no id'] })).toEqual([ids[1]]);
  });

  it('becomes a dead letter even if its workers die before they record the failure', async () => {
    const id = await web.add('orders');
    await database.query(
      `UPDATE idempotency_outbox SET attempts = $1, lease_token = '00000000-0000-4000-8000-00000000000a'`,
      [MOST],
    );
    expect(await worker.deliver()).toBe(1);
    expect(deliveries).toEqual([]);
    expect(await web.outbox.deadLetters()).toMatchObject([
      { id, lastError: expect.stringContaining('did not end') },
    ]);
  });
});

describe('Requeuing', () => {
  it.each([
    ['unknown', randomUUID()],
    ['no message at all', 'mail 17'],
  ])('does nothing for a message that is %s, and says so', async (_, id) => {
    expect(await web.outbox.requeue(id, 'ops')).toBe(false);
  });

  it('leaves an entry in the audit that tells who requeued what, and why', async () => {
    const id = await deadLetter();
    await web.outbox.requeue(id, { who: 'ada@example.com', why: 'The mail server is back' });
    await web.outbox.requeue(id, 'somebody who was late');
    expect(await auditOf(database, id)).toEqual([
      {
        scope: '',
        key_id: null,
        action: 'requeue',
        who: 'ada@example.com',
        why: 'The mail server is back',
        before: { status: 'dead', topic: 'orders', attempts: MOST },
        after: { status: 'queued', topic: 'orders', attempts: 0 },
      },
    ]);
  });

  it('happens once, with one entry in the audit, when two people decide it at once', async () => {
    const id = await deadLetter();
    const outcomes = await Promise.all(
      ['ada', 'grace'].map((who) => web.outbox.requeue(id, { who })),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await auditOf(database, id)).toMatchObject([
      { who: outcomes[0] === true ? 'ada' : 'grace', why: null },
    ]);
  });

  it.each([[undefined], [''], [{ who: ' ' }], [{ why: 'no name' }]])(
    'refuses a decision by nobody: %j',
    async (by) => {
      const id = await deadLetter();
      const before = await messages(database);
      await expect(web.outbox.requeue(id, by as never)).rejects.toThrow(
        "Use requeue(id, 'a name') or requeue(id, { who, why })",
      );
      expect(await messages(database)).toEqual(before);
    },
  );

  it('does nothing for a message that is being delivered, and says so', async () => {
    const gate = barrier();
    const slow = await startOutboxApp({ database, handlers: { slow: () => gate.pass() } });
    const id = await web.add('slow');
    const delivered = slow.deliver();
    await gate.arrived();
    const before = await messages(database);
    expect(await web.outbox.requeue(id, 'ops')).toBe(false);
    expect(await messages(database)).toEqual(before);
    gate.open();
    await delivered;
    await slow.close();
  });

  it('wakes the worker of the process', async () => {
    const id = await deadLetter();
    const came = barrier();
    came.open();
    const woken = await startOutboxApp({
      database,
      handlers: { orders: () => came.pass() },
      idempotency: working({ interval: '1h' }),
    });
    expect(await woken.outbox.requeue(id, 'ops')).toBe(true);
    await came.arrived();
    await woken.close();
  });
});
