import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { passTime } from '../support/time.js';
import { until } from '../support/until.js';
import { createOrdersDatabase, executions, order, startOrders } from './orders.js';

const RETRIES = 60;
const plain = { key: 'plain', route: 'orders' };
const resumable = { key: 'resumable', route: 'resumable-orders' };
const awaited = { key: 'awaited', route: 'resumable-orders' };

forEachPlatform('Races for an abandoned key', (platform) => {
  let database: TestDatabase;
  let survivors: ServerProcess[];

  beforeAll(async () => {
    database = await createOrdersDatabase();
    const [mortal, ...others] = await Promise.all(
      [1, 2, 3].map(() => startOrders(database, { platform: platform.name })),
    );
    survivors = others;
    const cut = [plain, resumable, awaited].map((wanted) =>
      expect(order(mortal!, { ...wanted, hold: true })).rejects.toThrow(),
    );
    for (let began = 0; began < cut.length; began++) await mortal!.event('began');
    await mortal!.kill();
    await Promise.all(cut);
  });
  afterAll(() => database.drop());

  function race(wanted: { key: string; route: string }) {
    return Array.from({ length: RETRIES }, (_, i) =>
      order(survivors[i % survivors.length]!, wanted),
    );
  }

  it('have one takeover, and every retry gets the answer of that one run', async () => {
    await passTime(database, resumable.key, '31 seconds');
    const answers = await Promise.all(race(resumable));
    const [first] = answers;
    expect(first!.json()).toMatchObject({ attempt: 2 });
    for (const answer of answers) {
      expect([answer.status, answer.text]).toEqual([201, first!.text]);
    }
    expect(await executions(database, resumable.key)).toBe(2);
  });

  it('have one takeover among those that waited for the dead attempt', async () => {
    const before = await requestsSeen();
    const waiting = race(awaited);
    await until(async () => (await requestsSeen()) - before === RETRIES, 'all have arrived');
    await passTime(database, awaited.key, '31 seconds');

    const answers = await Promise.all(waiting);
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(answers[0]!.json()).toMatchObject({ attempt: 2 });
    expect(await executions(database, awaited.key)).toBe(2);
  });

  it('give unknown to all if the key may not be repeated', async () => {
    await passTime(database, plain.key, '31 seconds');
    const answers = await Promise.all(race(plain));
    expect(new Set(answers.map((answer) => answer.json().code))).toEqual(
      new Set(['outcome_unknown']),
    );
    expect(await executions(database, plain.key)).toBe(1);
    expect(await keyRow(database, plain.key)).toMatchObject({ status: 'unknown', attempt: 1 });
  });

  async function requestsSeen(): Promise<number> {
    const seen = await Promise.all(survivors.map((server) => server.ask<number>('requests')));
    return seen.reduce((sum, count) => sum + count, 0);
  }
});
