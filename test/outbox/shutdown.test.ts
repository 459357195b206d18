import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import { until } from '../support/until.js';
import { message, messages } from './messages.js';
import { startOutboxApp, working } from './outbox-app.js';
import { CLAIM } from './statements.js';

let database: TestDatabase;
let gate: Barrier;
const signals: AbortSignal[] = [];
const handlers = {
  slow: ({ signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    return gate.pass();
  },
};

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await database.query('TRUNCATE idempotency_outbox');
  gate = barrier();
  signals.length = 0;
});
afterAll(() => database.drop());

describe('Shutdown of the outbox', () => {
  it('waits for the deliveries under way, and starts no other', async () => {
    const app = await startOutboxApp({
      database,
      handlers,
      idempotency: { ...working({ batch: 2 }), shutdownTimeout: '30s' },
    });
    for (let i = 0; i < 3; i += 1) await app.add('slow');
    await gate.arrived(2);
    const closed = app.close();
    gate.open();
    await closed;
    expect(gate.count).toBe(2);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    expect(await messages(database)).toMatchObject([{ attempts: 0, lease_token: null }]);
  });

  it('gives back messages whose delivery takes too long, without counting the attempt', async () => {
    const app = await startOutboxApp({
      database,
      handlers,
      idempotency: { ...working(), shutdownTimeout: '50ms' },
    });
    const id = await app.add('slow');
    await gate.arrived();
    await app.close();
    expect(signals[0]!.aborted).toBe(true);
    expect(await message(database, id)).toMatchObject({
      attempts: 0,
      lease_token: null,
      last_error: null,
    });

    const next = await startOutboxApp({ database, handlers: { slow: () => undefined } });
    expect(await next.deliver()).toBe(1); // at once: nobody waits for the lease
    await next.close();
    // What the first process still does with it does not count.
    gate.open();
  });

  it('gives back a claim that was under way', async () => {
    const proxy = await startPostgresProxy(database.url);
    const app = await startOutboxApp({
      database,
      dataSource: { url: proxy.url },
      handlers,
      idempotency: working({ interval: '1h' }), // it looks when the message was added
    });
    const claim = proxy.holdReply(CLAIM);
    const id = await app.add('slow');
    await claim.reached;
    expect(await message(database, id)).toMatchObject({ attempts: 1 });
    const closed = app.close();
    claim.release();
    await closed;
    expect(gate.count).toBe(0);
    await until(async () => (await message(database, id))?.lease_token === null);
    expect(await message(database, id)).toMatchObject({ attempts: 0 });
    await proxy.close();
  });
});
