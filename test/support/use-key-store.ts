import { afterAll, beforeAll } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './database.js';
import { openKeyStore, type OpenKeyStore } from './key-store.js';

/**
 * The store alone, for what no request can show: opened on a database of its own before
 * the tests of this describe block, and closed after them. Both can be used as soon as a
 * test or a later `beforeAll` runs.
 */
export function useKeyStore(): { database: TestDatabase; keys: OpenKeyStore } {
  const database = {} as TestDatabase;
  const keys = {} as OpenKeyStore;
  beforeAll(async () => {
    Object.assign(database, await createTestDatabase());
    Object.assign(keys, await openKeyStore(database.url));
  });
  // Missing where the start failed, whose error says more than this one would.
  afterAll(async () => {
    await (keys as Partial<OpenKeyStore>).close?.();
    await (database as Partial<TestDatabase>).drop?.();
  });
  return { database, keys };
}
