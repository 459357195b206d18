import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { passTime } from '../support/time.js';
import { createOrdersDatabase, executions, order, startOrders } from './orders.js';

forEachPlatform('A process stopped past its lease', (platform) => {
  let database: TestDatabase;
  let sleeper: ServerProcess;
  let successor: ServerProcess;

  beforeAll(async () => {
    database = await createOrdersDatabase();
    [sleeper, successor] = await Promise.all([
      startOrders(database, { platform: platform.name, deployment: 'sleeper' }),
      startOrders(database, { platform: platform.name, deployment: 'successor' }),
    ]);
  });
  afterAll(() => database.drop());

  /** The first process is stopped in the handler of this key until its lease has lapsed. */
  async function stopInHandlerOf(key: string, route: string) {
    const answer = order(sleeper, { key, route, hold: true });
    expect(await sleeper.event('began')).toBe(key);
    sleeper.pause();
    await passTime(database, key, '31 seconds');
    return {
      /** It wakes up, finishes its handler as if nothing had happened, and answers. */
      async wake() {
        sleeper.resume();
        await sleeper.ask('open', key);
        return answer;
      },
    };
  }

  it("keeps the successor's answer, and asks its client to try again", async () => {
    const wanted = { key: 'taken-over', route: 'resumable-orders' };
    const stopped = await stopInHandlerOf(wanted.key, wanted.route);
    const taken = await order(successor, wanted);
    expect(taken.status).toBe(201);
    expect(taken.json()).toMatchObject({ attempt: 2, by: 'successor' });
    const recorded = await keyRow(database, wanted.key);

    const late = await stopped.wake();
    expect(late.status).toBe(409);
    expect(late.json()).toMatchObject({ code: 'lease_lost', retryable: true });
    expect(late.headers.get('retry-after')).toBe('1');
    expect(await keyRow(database, wanted.key)).toEqual(recorded);

    for (const server of [sleeper, successor]) {
      const retry = await order(server, wanted);
      expect(retry.body).toEqual(taken.body);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(await executions(database, wanted.key)).toBe(2);
  });

  it('does not end the attempt of a running successor', async () => {
    const wanted = { key: 'still-running', route: 'resumable-orders' };
    const stopped = await stopInHandlerOf(wanted.key, wanted.route);
    const taken = order(successor, { ...wanted, hold: true });
    expect(await successor.event('began')).toBe('taken-over');
    expect(await successor.event('began')).toBe(wanted.key);

    expect((await stopped.wake()).json().code).toBe('lease_lost');
    expect(await keyRow(database, wanted.key)).toMatchObject({ status: 'in_progress', attempt: 2 });

    await successor.ask('open', wanted.key);
    expect((await taken).json()).toMatchObject({ attempt: 2, by: 'successor' });
    expect(await keyRow(database, wanted.key)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  it('does not change a key that has become unknown meanwhile', async () => {
    const wanted = { key: 'became-unknown', route: 'orders' };
    const stopped = await stopInHandlerOf(wanted.key, wanted.route);
    expect((await order(successor, wanted)).json().code).toBe('outcome_unknown');

    const late = await stopped.wake();
    expect(late.status).toBe(409);
    expect(late.json().retryable).toBe(true);
    expect(await keyRow(database, wanted.key)).toMatchObject({ status: 'unknown', attempt: 1 });
  });

  it('records as usual if no attempt took the key over', async () => {
    const wanted = { key: 'nobody-came', route: 'orders' };
    const stopped = await stopInHandlerOf(wanted.key, wanted.route);
    const late = await stopped.wake();
    expect(late.status).toBe(201);
    expect((await order(successor, wanted)).body).toEqual(late.body);
    expect(await executions(database, wanted.key)).toBe(1);
  });
});
