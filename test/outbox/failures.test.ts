import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { databaseClock, makeDue, message, messages } from './messages.js';
import { startOutboxApp, type OutboxApp } from './outbox-app.js';

let app: OutboxApp;
const deliveries: { id: string; attempt: number }[] = [];
let trouble: unknown;

beforeAll(async () => {
  app = await startOutboxApp({
    handlers: {
      orders: ({ id, attempt }) => {
        deliveries.push({ id, attempt });
        if (trouble !== undefined) return Promise.reject(trouble as Error);
      },
      mails: () => undefined,
    },
  });
});
beforeEach(async () => {
  await app.database.query('TRUNCATE idempotency_outbox');
  deliveries.length = 0;
  trouble = undefined;
});

describe('A delivery that fails', () => {
  it('is repeated under the same id, each time after about twice the pause', async () => {
    trouble = new Error('the other side is down');
    const id = await app.add('orders');
    for (const [index, about] of [1, 2, 4, 8, 16].entries()) {
      const before = await databaseClock(app.database);
      expect(await app.deliver()).toBe(1);
      const after = await databaseClock(app.database);
      // It failed between the two, however long that took.
      const availableAt = (await message(app.database, id))!.available_at.getTime();
      expect(availableAt - before).toBeGreaterThanOrEqual(about * 500 - 1);
      expect(availableAt - after).toBeLessThanOrEqual(about * 1500 + 1);
      expect(await app.deliver()).toBe(0);
      expect(await message(app.database, id)).toMatchObject({
        attempts: index + 1,
        lease_token: null,
        dead_at: null,
        last_error: expect.stringContaining('the other side is down'),
      });
      await makeDue(app.database, id);
    }
    trouble = undefined;
    expect(await app.deliver()).toBe(1);
    expect(deliveries).toEqual([1, 2, 3, 4, 5, 6].map((attempt) => ({ id, attempt })));
    expect(await messages(app.database)).toEqual([]);
  });

  it('is logged, with the reason', async () => {
    trouble = new Error('the other side is down');
    const id = await app.add('orders');
    await app.deliver();
    const warning = app.logger.warnings.find((text) => text.includes(id));
    expect(warning).toMatch(/Delivery 1 .* "orders" failed .*the other side is down/s);
  });

  it('does not delay any other message', async () => {
    trouble = new Error('no');
    const failing = await app.add('orders');
    await app.add('mails');
    expect(await app.deliver()).toBe(2);
    expect((await messages(app.database)).map(({ id }) => id)).toEqual([failing]);
  });

  it.each<[string, unknown, string]>([
    ['with a cause', new Error('a', { cause: new Error('the root') }), 'the root'],
    ['with a null character', new Error('before\0after'), 'beforeafter'],
    ['that is no error', 'just text', 'just text'],
    ['that cannot be shown', unshowable(), 'cannot be shown'],
  ])('is recorded with an error %s', async (_, error, expected) => {
    trouble = error;
    const id = await app.add('orders');
    await app.deliver();
    expect((await message(app.database, id))!.last_error).toContain(expected);
  });

  it('is recorded with the beginning of a very long error', async () => {
    trouble = new Error(`${'<html>'.repeat(100_000)}`);
    const id = await app.add('orders');
    await app.deliver();
    const { last_error: error } = (await message(app.database, id))!;
    expect(error).toContain('<html>');
    expect(error.length).toBeLessThanOrEqual(8_000);
  });
});

function unshowable(): Error {
  const error = new Error('x');
  const throws = () => {
    throw new Error('a getter that throws');
  };
  Object.defineProperty(error, 'stack', { get: throws });
  Object.defineProperty(error, 'message', { get: throws });
  return error;
}
