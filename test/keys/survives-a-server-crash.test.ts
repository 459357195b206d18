import { describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';

// An UNLOGGED table is emptied when the server recovers from a crash: every key
// would be forgotten, and every retry would run a second time.
describe('The key tables', () => {
  it('survive a crash of the database server', async () => {
    const database = await createTestDatabase();
    const tables = await database.query(
      `SELECT relname AS name, relpersistence AS persistence FROM pg_class
     WHERE relkind = 'r' AND relname LIKE 'idempotency%' ORDER BY relname`,
    );
    await database.drop();

    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['idempotency_keys', 'idempotency_phases']),
    );
    expect(tables.map(({ persistence }) => persistence)).toEqual(tables.map(() => 'p'));
  });
});
