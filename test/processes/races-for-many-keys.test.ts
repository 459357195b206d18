import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { createOrdersDatabase, executions, order, startOrders } from './orders.js';

const KEYS = 200;
const DUPLICATES = 4;
/** Keys under way at a time. All at once would measure the listen queue of the system. */
const AT_ONCE = 50;
/** Most of the work of the whole suite is in this test: on a busy machine it needs its time. */
const LIMIT = 180_000;

forEachPlatform('Races for many keys', (platform) => {
  let database: TestDatabase;
  let servers: ServerProcess[];

  beforeAll(async () => {
    database = await createOrdersDatabase();
    servers = await Promise.all(
      [1, 2].map(() => startOrders(database, { platform: platform.name })),
    );
  });
  afterAll(() => database.drop());

  it(
    'run each of 200 keys once, with 4 requests per key over two processes',
    async () => {
      const keys = Array.from({ length: KEYS }, (_, i) => `key-${i}`);
      const bodies: string[] = [];

      async function worker() {
        for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
          bodies.push(await bodyOf(key));
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker));

      expect(await executions(database)).toBe(KEYS);
      expect(new Set(bodies).size).toBe(KEYS);
    },
    LIMIT,
  );

  /** What all duplicates of a key got. */
  async function bodyOf(key: string): Promise<string> {
    const answers = await Promise.all(
      Array.from({ length: DUPLICATES }, (_, i) =>
        order(servers[i % servers.length]!, { key, route: 'awaited-orders', item: key }),
      ),
    );
    const [first] = answers;
    expect(first!.json()).toMatchObject({ item: key, attempt: 1 });
    for (const answer of answers) {
      expect([answer.status, answer.text]).toEqual([201, first!.text]);
    }
    return first!.text;
  }
});
