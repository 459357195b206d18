import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import type { Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { passTime } from '../support/time.js';
import { until } from '../support/until.js';
import { createOrdersDatabase, executions, order, startOrders } from './orders.js';

const plain = { key: 'plain', route: 'orders' };
const misused = { key: 'misused', route: 'orders' };
const awaited = { key: 'awaited', route: 'awaited-orders' };
const resumable = { key: 'resumable', route: 'resumable-orders' };

forEachPlatform('A process killed in its handler', (platform) => {
  let database: TestDatabase;
  let survivor: ServerProcess;
  /** A duplicate that came to the other process before the first one died. */
  let waiting: Promise<Received>;

  beforeAll(async () => {
    database = await createOrdersDatabase();
    const [mortal, other] = await Promise.all([
      startOrders(database, { platform: platform.name }),
      startOrders(database, { platform: platform.name }),
    ]);
    survivor = other;

    const cut = [plain, misused, awaited, resumable].map((wanted) =>
      expect(order(mortal, { ...wanted, hold: true })).rejects.toThrow(),
    );
    for (let began = 0; began < cut.length; began++) await mortal.event('began');
    waiting = order(survivor, awaited);
    await until(() => survivor.ask('requests'), 'the duplicate has arrived');

    await mortal.kill();
    await Promise.all(cut);
  });
  afterAll(() => database.drop());

  it('leaves an unknown outcome once the lease has lapsed, and it never runs again', async () => {
    const early = await order(survivor, plain);
    expect(early.status).toBe(409);
    expect(early.json()).toMatchObject({ code: 'in_progress', retryable: true });

    await passTime(database, plain.key, '31 seconds');
    // Through the whole retention of a day, and beyond it.
    for (const interval of ['0', '1 hour', '12 hours', '10 hours', '2 hours', '30 days']) {
      await passTime(database, plain.key, interval);
      const retry = await order(survivor, plain);
      expect(retry.status).toBe(409);
      expect(retry.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
      expect(Number(retry.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect(await keyRow(database, plain.key)).toMatchObject({
      status: 'unknown',
      attempt: 1,
      last_error_code: 'abandoned',
    });
    expect(await executions(database, plain.key)).toBe(1);
  });

  it('leaves a key that refuses another body, before and after the lease has lapsed', async () => {
    for (const interval of ['0', '31 seconds', '1 hour']) {
      await passTime(database, misused.key, interval);
      const other = await order(survivor, { ...misused, item: 'balloon' });
      expect(other.status).toBe(422);
      expect(other.json().code).toBe('key_reused');
    }
    expect(await keyRow(database, misused.key)).toMatchObject({ status: 'in_progress' });
    expect((await order(survivor, misused)).json().code).toBe('outcome_unknown');
  });

  it('is reported to a duplicate that waits in another process as soon as the lease has lapsed', async () => {
    await passTime(database, awaited.key, '31 seconds');
    const answer = await waiting;
    expect(answer.status).toBe(409);
    expect(answer.json().code).toBe('outcome_unknown');
    expect(await executions(database, awaited.key)).toBe(1);
  });

  it("leaves a key that runs again with onAbandoned: 'resume', and that is recorded", async () => {
    await passTime(database, resumable.key, '31 seconds');
    const resumed = await order(survivor, resumable);
    expect(resumed.status).toBe(201);
    expect(resumed.json()).toMatchObject({ item: 'rocket', attempt: 2 });
    expect(resumed.headers.get('idempotent-replayed')).toBeNull();

    const retry = await order(survivor, resumable);
    expect(retry.status).toBe(201);
    expect(retry.body).toEqual(resumed.body);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(await executions(database, resumable.key)).toBe(2);
    expect(await keyRow(database, resumable.key)).toMatchObject({
      status: 'completed',
      attempt: 2,
    });
  });
});
