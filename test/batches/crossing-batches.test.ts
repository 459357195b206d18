import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

/**
 * Of each of two processes, which ask for the same keys. Batches in the order of the
 * requests deadlock within the first hundred of them.
 */
const BATCHES = 100;

/** What the batches of test/servers/crossing-batches.ts reach in one round. */
const KEYS = (BATCHES - 1) * 4 + 16;

/** On a busy machine one process may be through before the other begins. */
const CONTESTED_ROUNDS = 4;

let database: TestDatabase;
let processes: ServerProcess[];

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { DATABASE: database.url };
  processes = await Promise.all([
    startServer('test/servers/crossing-batches', { env }),
    startServer('test/servers/crossing-batches', { env }),
  ]);
});
afterAll(() => database.drop());

describe('Batches of two processes', () => {
  it('give each key to one process, and neither process blocks the other', async () => {
    let rounds = 0;
    for (let contested = 0; contested < CONTESTED_ROUNDS; rounds += 1) {
      const work = { from: rounds * 2 * BATCHES, batches: BATCHES };
      const reserved = await Promise.all(
        processes.map((process) => process.ask<string[]>('reserveAll', work)),
      );
      expect(new Set(reserved.flat()).size).toBe(KEYS);
      expect(reserved.flat()).toHaveLength(KEYS);
      if (reserved.every((keys) => keys.length > 0)) contested += 1;
    }

    const [rows] = await database.query<{ completed: number }>(
      `SELECT count(*)::int AS completed FROM idempotency_keys WHERE status = 'completed'`,
    );
    expect(rows!.completed).toBe(rounds * KEYS);

    // A connection reports what it has seen when it ends, at the latest.
    await Promise.all(processes.map((process) => process.kill()));
    const [seen] = await database.query<{ deadlocks: number }>(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(seen!.deadlocks).toBe(0);
  });
});
