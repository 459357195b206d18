import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { schemaSteps } from '../../migrations/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const TABLES = schemaSteps.map(({ table }) => table);

describe('The collation of the tables', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('is "C" for every text column of every index, whatever that of the database is', async () => {
    const columns = await database.query<{ column: string; collation: string }>(
      `SELECT DISTINCT t.relname || '.' || a.attname AS "column", c.collname AS collation
       FROM pg_index i
       JOIN pg_class t ON t.oid = i.indrelid
       CROSS JOIN unnest(i.indkey::int[], i.indcollation::oid[]) AS k (attnum, id)
       JOIN pg_collation c ON c.oid = k.id
       LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum
       WHERE t.relname = ANY ($1)
       ORDER BY 1`,
      [TABLES],
    );
    expect(columns.map(({ column }) => column)).toEqual(
      expect.arrayContaining([
        'idempotency_keys.scope',
        'idempotency_keys.key',
        'idempotency_keys.endpoint',
        'idempotency_phases.name',
      ]),
    );
    expect(columns.filter(({ collation }) => collation !== 'C')).toEqual([]);
  });
});
