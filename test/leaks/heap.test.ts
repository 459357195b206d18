import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { platformNames } from '../support/listen.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

/**
 * What the heap may grow by for each order or message, in bytes. Caches, pools and compiled
 * code grow too, but not with every order: by about 770 for each of these orders, and not at
 * all for these messages. What could be left behind adds far more: a listener on a signal
 * with all that hangs on it, for example, 2,300 for an order and 1,900 for a message.
 */
const BOUND = { order: 1_500, message: 400 };

/** Thousands of orders take minutes on a busy machine. */
const LONG = 600_000;

let database: TestDatabase;
let server: ServerProcess;

async function start(platform: (typeof platformNames)[number]): Promise<void> {
  database = await createTestDatabase();
  server = await startServer('test/servers/orders-with-mails', {
    platform,
    env: { DATABASE: database.url },
    nodeOptions: ['--expose-gc'],
  });
}

async function stop(): Promise<void> {
  await (server as ServerProcess | undefined)?.kill();
  await (database as TestDatabase | undefined)?.drop();
}

describe.each(platformNames)('The heap of a process on %s', (platform) => {
  beforeAll(() => start(platform));
  afterAll(stop);

  it(
    'does not grow with requests, phases, waiting duplicates and deliveries',
    async () => {
      const { url } = server;
      await server.ask('order', { url, from: 0, to: 1_000 });
      await server.ask('deliver');
      const before = await server.ask<number>('heap');
      await server.ask('order', { url, from: 1_000, to: 2_000 });
      await server.ask('deliver');
      const after = await server.ask<number>('heap');

      expect(await server.ask('tally')).toEqual({ orders: 2_000, charges: 2_000, mails: 2_000 });
      expect((after - before) / 1_000).toBeLessThan(BOUND.order);
    },
    LONG,
  );
});

describe('The heap of a worker', () => {
  beforeAll(() => start('express'));
  afterAll(stop);

  it(
    'does not grow with 9,000 deliveries',
    async () => {
      await server.ask('addMails', 3_000);
      await server.ask('deliver');
      const before = await server.ask<number>('heap');
      await server.ask('addMails', 6_000);
      await server.ask('deliver');
      const after = await server.ask<number>('heap');

      expect(await server.ask('tally')).toMatchObject({ mails: 9_000 });
      expect((after - before) / 6_000).toBeLessThan(BOUND.message);
    },
    LONG,
  );
});
