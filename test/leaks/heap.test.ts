import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { platformNames } from '../support/listen.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

/**
 * What the heap may grow by for each order or message, in bytes. What could be
 * left behind takes far more: a listener on a signal with all that hangs on it,
 * for example, 1,750. Caches, pools and compiled code grow too, but not with
 * every order, so the longer the run, the closer the bound may be.
 */
const BOUND = { order: 700, message: 200 };

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
      await server.ask('order', { url, from: 1_000, to: 3_000 });
      await server.ask('deliver');
      const after = await server.ask<number>('heap');

      expect(await server.ask('tally')).toEqual({ orders: 3_000, charges: 3_000, mails: 3_000 });
      expect((after - before) / 2_000).toBeLessThan(BOUND.order);
    },
    LONG,
  );
});

describe('The heap of a worker', () => {
  beforeAll(() => start('express'));
  afterAll(stop);

  it(
    'does not grow with 20,000 deliveries',
    async () => {
      await server.ask('addMails', 5_000);
      await server.ask('deliver');
      const before = await server.ask<number>('heap');
      await server.ask('addMails', 15_000);
      await server.ask('deliver');
      const after = await server.ask<number>('heap');

      expect(await server.ask('tally')).toMatchObject({ mails: 20_000 });
      expect((after - before) / 15_000).toBeLessThan(BOUND.message);
    },
    LONG,
  );
});
