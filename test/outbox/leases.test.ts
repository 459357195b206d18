import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { makeDue, message, messages } from './messages.js';
import { startOutboxApp, type OutboxApp } from './outbox-app.js';

let database: TestDatabase;
let gate: Barrier;
let trouble: Error | undefined;
const signals: AbortSignal[] = [];

const handlers = {
  slow: async ({ signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    await gate.pass();
    if (trouble) throw trouble;
  },
};

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await database.query('TRUNCATE idempotency_outbox');
  gate = barrier();
  trouble = undefined;
  signals.length = 0;
});
afterAll(() => database.drop());

describe('A delivery', () => {
  it('that takes longer than its lease keeps its message by heartbeats', async () => {
    const app = await startOutboxApp({
      database,
      handlers,
      idempotency: { storeTimeout: '3s', outbox: { lease: '3s' } },
    });
    const id = await app.add('slow');
    const delivered = app.deliver();
    await gate.arrived();
    const { available_at: claimedUntil, lease_token: token } = (await message(database, id))!;
    // Still out of reach for others when the first lease would have lapsed, by the database's clock.
    await until(async () => {
      const [renewed] = await database.query(
        `SELECT FROM idempotency_outbox
         WHERE id = $1 AND lease_token = $2 AND now() > $3 AND available_at > now()`,
        [id, token, claimedUntil],
      );
      return renewed;
    });
    expect(gate.count).toBe(1);
    gate.open();
    expect(await delivered).toBe(1);
    expect(await messages(database)).toEqual([]);
    await app.close();
  });

  it('is told that its lease is lost', async () => {
    const app = await startOutboxApp({
      database,
      handlers,
      idempotency: { storeTimeout: '3s', outbox: { lease: '3s' } },
    });
    const id = await app.add('slow');
    const delivered = app.deliver();
    await gate.arrived();
    await database.query(
      `UPDATE idempotency_outbox SET lease_token = '00000000-0000-4000-8000-00000000000a' WHERE id = $1`,
      [id],
    );
    const before = await message(database, id);
    await until(() => signals[0]!.aborted);
    await delivered; // it is not waited for any more
    expect(await message(database, id)).toEqual(before);
    gate.open();
    await app.close();
  });

  it('keeps its lease when an older delivery of the same message in its process loses its own', async () => {
    const app = await startOutboxApp({
      database,
      handlers,
      idempotency: { storeTimeout: '3s', outbox: { lease: '3s' } },
    });
    const id = await app.add('slow');
    const older = app.deliver();
    await gate.arrived();
    // Due and nobody's, or a heartbeat would renew it before it is claimed.
    await database.query(
      `UPDATE idempotency_outbox SET lease_token = '00000000-0000-4000-8000-00000000000a', available_at = now() WHERE id = $1`,
      [id],
    );
    const newer = app.deliver();
    await gate.arrived(2);
    await until(() => signals[0]!.aborted);
    expect(signals[1]!.aborted).toBe(false);
    gate.open();
    await Promise.all([older, newer]);
    expect(await messages(database)).toEqual([]);
    await app.close();
  });
});

describe('A delivery whose message another worker has taken over', () => {
  let sleeper: OutboxApp;
  let successor: OutboxApp;
  beforeAll(async () => {
    sleeper = await startOutboxApp({ database, handlers });
    successor = await startOutboxApp({ database, handlers: { slow: () => later.pass() } });
  });
  afterAll(() => Promise.all([sleeper.close(), successor.close()]));

  let later: Barrier;
  beforeEach(() => {
    later = barrier();
  });

  it.each([
    ['succeeds', undefined],
    ['fails', new Error('too late')],
  ])('and %s changes nothing', async (_, error) => {
    trouble = error;
    const id = await sleeper.add('slow');
    const lost = sleeper.deliver();
    await gate.arrived();
    await makeDue(database, id);
    const taken = successor.deliver();
    await later.arrived();

    const before = await message(database, id);
    expect(before).toMatchObject({ attempts: 2 });
    gate.open();
    await lost;
    expect(await message(database, id)).toEqual(before);
    expect(successor.logger.warnings).toContainEqual(
      expect.stringMatching(`Message ${id} .* was claimed by another worker`),
    );

    later.open();
    expect(await taken).toBe(1);
    expect(await message(database, id)).toBeUndefined();
  });
});
