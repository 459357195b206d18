import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PhaseUsageError } from 'nestjs-atomic-idempotency';
import { DataSource, type EntityManager } from 'typeorm';
import { messages } from './messages.js';
import { startOutboxApp, type OutboxApp } from './outbox-app.js';
import { later } from '../../lib/postgres/times.js';

let app: OutboxApp;
const received: unknown[] = [];
beforeAll(async () => {
  app = await startOutboxApp({
    handlers: { orders: ({ payload }) => void received.push(payload) },
  });
});
beforeEach(async () => {
  await app.database.query('TRUNCATE idempotency_outbox');
  received.length = 0;
});

const abort = () => {
  throw new Error('the work failed');
};

describe('A message', () => {
  it('is delivered when its transaction has committed, and is then removed', async () => {
    await app.dataSource.transaction(async (tx) => {
      await app.outbox.add(tx, 'orders', { order: 1 });
      expect(await app.deliver()).toBe(0); // nobody else sees it yet
    });
    expect(await app.deliver()).toBe(1);
    expect(received).toEqual([{ order: 1 }]);
    expect(await messages(app.database)).toEqual([]);
    expect(await app.deliver()).toBe(0);
  });

  it('is never delivered when its transaction was rolled back', async () => {
    const work = app.dataSource.transaction(async (tx) => {
      await app.outbox.add(tx, 'orders', { order: 1 });
      abort();
    });
    await expect(work).rejects.toThrow('the work failed');
    expect(await app.deliver()).toBe(0);
    expect(await messages(app.database)).toEqual([]);
  });

  it('is never delivered when its savepoint was rolled back', async () => {
    await app.dataSource.transaction(async (tx) => {
      await app.outbox.add(tx, 'orders', { order: 1 });
      await tx
        .transaction(async (inner) => {
          await app.outbox.add(inner, 'orders', { order: 2 });
          abort();
        })
        .catch(() => undefined);
      await tx.transaction((inner) => app.outbox.add(inner, 'orders', { order: 3 }));
    });
    expect(await app.deliver()).toBe(2);
    expect(received).toEqual(expect.arrayContaining([{ order: 1 }, { order: 3 }]));
  });

  it('arrives in its JSON form, even without a payload', async () => {
    const at = new Date('2026-01-02T03:04:05Z');
    for (const payload of [undefined, null, 0, '\u0000 \ud83d\ude80', { at, n: undefined }, [1]]) {
      await app.add('orders', payload);
      await app.deliver();
    }
    expect(received).toEqual([
      undefined,
      null,
      0,
      '\u0000 \ud83d\ude80',
      { at: '2026-01-02T03:04:05.000Z' },
      [1],
    ]);
  });

  it('is not delivered before its delay is over', async () => {
    const id = await app.add('orders', { order: 1 }, { delay: '1h' });
    expect(await app.deliver()).toBe(0);
    await app.database.query(
      `UPDATE idempotency_outbox SET available_at = ${later('available_at', "interval '-1 hour'")} WHERE id = $1`,
      [id],
    );
    expect(await app.deliver()).toBe(1);
  });
});

describe('A refused message', () => {
  const expectRefused = async (work: (tx: EntityManager) => Promise<unknown>, why: RegExp) => {
    const error = await app.dataSource.transaction(work).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PhaseUsageError);
    expect((error as Error).message).toMatch(why);
    expect(await messages(app.database)).toEqual([]);
  };

  it('has no transaction', async () => {
    await expectRefused(
      () => app.outbox.add(app.dataSource.manager, 'orders'),
      /without a transaction/,
    );
    const runner = app.dataSource.createQueryRunner();
    await expectRefused(() => app.outbox.add(runner.manager, 'orders'), /without a transaction/);
    await runner.release();
  });

  it('has a transaction that has ended', async () => {
    let ended: EntityManager | undefined;
    await app.dataSource.transaction(async (tx) => void (ended = tx));
    await expectRefused(() => app.outbox.add(ended!, 'orders'), /without a transaction/);
  });

  it('has a transaction of another data source, where no worker would find it', async () => {
    const other = await new DataSource({ ...app.database.dataSourceOptions }).initialize();
    await expectRefused(
      () => other.transaction((tx) => app.outbox.add(tx, 'orders')),
      /a data source other than that of the IdempotencyModule/,
    );
    await other.destroy();
  });

  it.each<[string, unknown[], RegExp]>([
    ['without a topic', [''], /non-empty string as the topic/],
    ['with a payload that JSON would lose', ['orders', new Map()], /cannot be stored as JSON/],
    ['with a delay that is none', ['orders', 1, { delay: 'soon' }], /not a duration/],
    ['with an empty ordering key', ['orders', 1, { orderingKey: '' }], /orderingKey/],
    ['with a huge ordering key', ['orders', 1, { orderingKey: 'k'.repeat(1001) }], /orderingKey/],
  ])('%s', async (_, [topic, payload, options], why) => {
    await expectRefused(
      (tx) => app.outbox.add(tx, topic as string, payload, options as object),
      why,
    );
  });
});
