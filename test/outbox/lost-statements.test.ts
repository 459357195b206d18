import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { message, messages } from './messages.js';
import { startOutboxApp, working, type OutboxApp } from './outbox-app.js';
import { CLAIM, DELIVERED, FAILED } from './statements.js';

let database: TestDatabase;
let proxy: PostgresProxy;
let app: OutboxApp;
const attempts: number[] = [];
let broken = false;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startPostgresProxy(database.url);
  app = await startOutboxApp({
    database,
    dataSource: { url: proxy.url },
    handlers: {
      orders: ({ attempt }) => {
        attempts.push(attempt);
        if (broken) throw new Error('no');
      },
    },
    // It looks when a message was added, and at no other time that could meet a fault.
    idempotency: working({ interval: '1h' }),
  });
  attempts.length = 0;
  broken = false;
});
afterEach(async () => {
  await app.close();
  await proxy.close();
  await database.drop();
});

describe('A broken connection', () => {
  it('after a claim does not make the messages wait for a lease', async () => {
    const lost = proxy.loseReply(CLAIM);
    const id = await app.add('orders');
    await lost;
    await until(async () => (await message(database, id))?.lease_token === null);
    expect(await message(database, id)).toMatchObject({ attempts: 0 }); // nobody has tried yet
    expect(await app.deliver()).toBe(1);
    expect(attempts).toEqual([1]);
  });

  it.each(['loseStatement', 'loseReply'] as const)(
    'at the record that a message was delivered (%s) does not repeat the delivery',
    async (fault) => {
      const lost = proxy[fault](DELIVERED);
      await app.add('orders');
      await lost;
      await until(async () => (await messages(database)).length === 0);
      expect(attempts).toEqual([1]);
      expect(app.logger.warnings.filter((text) => text.includes('another worker'))).toEqual([]);
    },
  );

  it.each(['loseStatement', 'loseReply'] as const)(
    'at the record that a delivery failed (%s) does not count the failure twice',
    async (fault) => {
      broken = true;
      const lost = proxy[fault](FAILED);
      const id = await app.add('orders');
      await lost;
      const row = await until(async () => {
        const found = await message(database, id);
        return found?.lease_token === null ? found : undefined;
      });
      expect(row).toMatchObject({ attempts: 1, last_error: expect.stringContaining('no') });
      expect(attempts).toEqual([1]);
    },
  );
});
