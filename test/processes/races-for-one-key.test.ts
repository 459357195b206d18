import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import type { Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createOrdersDatabase, executions, order, startOrders } from './orders.js';

const DUPLICATES = 100;

forEachPlatform('Races for one key', (platform) => {
  let database: TestDatabase;
  let servers: ServerProcess[];

  beforeAll(async () => {
    database = await createOrdersDatabase();
    // Fewer connections than requests: whoever waits must not hold one.
    const options = { platform: platform.name, connections: 3 };
    servers = await Promise.all([1, 2].map(() => startOrders(database, options)));
  });
  afterAll(() => database.drop());

  /** The same request many times at once, in turns to both processes. */
  function race(wanted: { key: string; route: string }) {
    const answered: Received[] = [];
    const all = Array.from({ length: DUPLICATES }, async (_, i) => {
      const answer = await order(servers[i % servers.length]!, { ...wanted, hold: true });
      answered.push(answer);
      return answer;
    });
    return { answered, all: Promise.all(all) };
  }

  function openGates(key: string): Promise<unknown> {
    return Promise.all(servers.map((server) => server.ask('open', key)));
  }

  async function expectReplays(wanted: { key: string; route: string }, first: Received) {
    for (const server of servers) {
      const retry = await order(server, wanted);
      expect(retry.status).toBe(201);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(retry.body).toEqual(first.body);
    }
    expect(await executions(database, wanted.key)).toBe(1);
  }

  it.each([
    { mode: 'reject', route: 'orders', status: 409, code: 'in_progress' },
    { mode: 'accept', route: 'accepted-orders', status: 202, code: undefined },
  ])(
    'run one of 100 over two processes, and answer the others at once ($mode)',
    async ({ mode, route, status, code }) => {
      const wanted = { key: `race-${mode}`, route };
      const { answered, all } = race(wanted);
      await until(() => answered.length === DUPLICATES - 1, 'the duplicates are answered');

      for (const answer of answered) {
        expect(answer.status).toBe(status);
        expect(answer.json().code).toBe(code);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      }
      expect(await executions(database, wanted.key)).toBe(1);

      await openGates(wanted.key);
      const [first] = (await all).filter((answer) => answer.status === 201);
      expect(first!.headers.get('idempotent-replayed')).toBeNull();
      await expectReplays(wanted, first!);
    },
  );

  it('run one of 100 over two processes, and give all the same answer (wait)', async () => {
    const wanted = { key: 'race-wait', route: 'awaited-orders' };
    const before = await requestsSeen();
    const { answered, all } = race(wanted);
    await until(async () => (await requestsSeen()) - before === DUPLICATES, 'all have arrived');
    // A key of its own still gets through, past all that wait.
    expect((await order(servers[0]!, { key: 'bystander' })).status).toBe(201);
    expect(answered).toEqual([]);

    await openGates(wanted.key);
    const answers = await all;
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
    const originals = answers.filter((answer) => !answer.headers.has('idempotent-replayed'));
    expect(originals).toHaveLength(1);
    for (const answer of answers) expect(answer.body).toEqual(originals[0]!.body);
    await expectReplays(wanted, originals[0]!);
  });

  async function requestsSeen(): Promise<number> {
    const seen = await Promise.all(servers.map((server) => server.ask<number>('requests')));
    return seen.reduce((sum, count) => sum + count, 0);
  }
});
