import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { onCluster } from '../support/cluster.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.js';
import { messages } from './messages.js';
import { startOutboxApp, type OutboxApp } from './outbox-app.js';
import { CLAIM, DELIVERED } from './statements.js';

/** The beginning of the statement that locks an ordering key on a cluster. */
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('idempotency_outbox '`;

let database: TestDatabase;
let proxy: PostgresProxy;
let app: OutboxApp;
beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startPostgresProxy(database.url);
  app = await startOutboxApp({
    database,
    dataSource: { url: proxy.url },
    handlers: { orders: () => undefined },
  });
});
beforeEach(() => {
  proxy.statements.length = 0;
});
afterAll(async () => {
  await app.close();
  await proxy.close();
  await database.drop();
});

const sent = () => proxy.statements.map(({ sql }) => sql.trim().split(/\s+/).slice(0, 3).join(' '));

describe('The number of statements of the outbox', () => {
  it('is one in the transaction that adds a message, without NOTIFY', async () => {
    await app.add('orders', 1);
    await app.add('orders', 2, { orderingKey: 'a' });
    // On a cluster, the lock of the ordering key is on the coordinator.
    expect(sent()).toEqual(
      onCluster
        ? [
            ...['START TRANSACTION', 'INSERT INTO "idempotency_outbox"', 'COMMIT'],
            ...['START TRANSACTION', LOCK, 'INSERT INTO "idempotency_outbox"', 'COMMIT'],
          ]
        : [
            ...['START TRANSACTION', 'WITH locked AS', 'COMMIT'],
            ...['START TRANSACTION', 'WITH locked AS', 'COMMIT'],
          ],
    );
    expect(proxy.count(/NOTIFY|LISTEN/i)).toBe(0);
  });

  it('is two for a message: claimed, and delivered', async () => {
    await database.query('TRUNCATE idempotency_outbox');
    await app.add('orders');
    proxy.statements.length = 0;
    await app.deliver();
    expect(proxy.count(CLAIM)).toBe(1);
    expect(proxy.count(DELIVERED)).toBe(1);
    // On a cluster, what is due is found before it is claimed.
    expect(proxy.statements).toHaveLength(onCluster ? 3 : 2);
  });

  it('is small for many messages', async () => {
    await app.dataSource.transaction(async (tx) => {
      for (let i = 0; i < 50; i += 1) await app.outbox.add(tx, 'orders', i);
    });
    proxy.statements.length = 0;
    expect(await app.deliver()).toBe(50);
    expect(await messages(database)).toEqual([]);
    expect(proxy.count(CLAIM)).toBe(1);
    expect(proxy.count(DELIVERED)).toBeLessThanOrEqual(5);
  });

  it('is one for a query that finds nothing', async () => {
    expect(await app.deliver()).toBe(0);
    expect(proxy.statements).toHaveLength(1);
  });

  it('is zero in a process without handlers', async () => {
    const web = await startOutboxApp({ database, dataSource: { url: proxy.url } });
    proxy.statements.length = 0;
    expect(await web.deliver()).toBe(0);
    expect(proxy.statements).toEqual([]);
    await web.close();
  });
});
