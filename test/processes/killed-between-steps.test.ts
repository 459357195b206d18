import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { passTime } from '../support/time.js';
import { createOrdersDatabase, executions, order, startOrders, type Order } from './orders.js';

forEachPlatform('Killed processes', (platform) => {
  let database: TestDatabase;
  let survivor: ServerProcess;

  beforeAll(async () => {
    database = await createOrdersDatabase();
    survivor = await startOrders(database, { platform: platform.name });
  });
  afterAll(() => database.drop());

  /** Sends the orders to a process that dies when all of them have come to that point. */
  async function dieAt(point: string, orders: Order[]) {
    const mortal = await startOrders(database, { platform: platform.name });
    await mortal.ask('dieAt', { point, attempts: orders.length });
    await Promise.all(orders.map((wanted) => expect(order(mortal, wanted)).rejects.toThrow()));
    expect(await mortal.exited).toEqual({ code: null, signal: 'SIGKILL' });
  }

  describe.each([
    { when: 'between the reservation and the handler', point: 'reserved', ran: 0 },
    { when: 'between the handler and the recording', point: 'recording:before', ran: 1 },
  ])('A process killed $when', ({ point, ran }) => {
    const plain = { key: `${point}-plain`, route: 'orders' };
    const resumable = { key: `${point}-resumable`, route: 'resumable-orders' };
    beforeAll(() => dieAt(point, [plain, resumable]));

    it('leaves an unknown outcome', async () => {
      expect(await executions(database, plain.key)).toBe(ran);
      expect((await order(survivor, plain)).json().code).toBe('in_progress');

      await passTime(database, plain.key, '31 seconds');
      for (let retry = 0; retry < 2; retry++) {
        const answer = await order(survivor, plain);
        expect(answer.status).toBe(409);
        expect(answer.json().code).toBe('outcome_unknown');
      }
      expect(await executions(database, plain.key)).toBe(ran);
    });

    it("leaves a key that runs again with onAbandoned: 'resume'", async () => {
      await passTime(database, resumable.key, '31 seconds');
      const resumed = await order(survivor, resumable);
      expect(resumed.status).toBe(201);
      expect(resumed.json().attempt).toBe(2);

      const retry = await order(survivor, resumable);
      expect(retry.body).toEqual(resumed.body);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(await executions(database, resumable.key)).toBe(ran + 1);
    });
  });

  it('have their recorded answer replayed if they were killed before it left', async () => {
    const orders = [
      { key: 'recorded-plain', route: 'orders' },
      { key: 'recorded-resumable', route: 'resumable-orders' },
    ];
    await dieAt('recording:after', orders);

    for (const wanted of orders) {
      expect(await keyRow(database, wanted.key)).toMatchObject({ status: 'completed', attempt: 1 });
      const retry = await order(survivor, wanted);
      expect(retry.status).toBe(201);
      expect(retry.json()).toMatchObject({ item: 'rocket', attempt: 1 });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(await executions(database, wanted.key)).toBe(1);
    }
  });
});
