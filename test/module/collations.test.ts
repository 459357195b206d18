import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { schemaSteps } from '../../migrations/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { bootFailure } from './boot-failure.js';

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

  it('stops the boot if it is another one, and the error has the statement that changes it', async () => {
    await database.query(
      `ALTER TABLE idempotency_keys ALTER key TYPE text COLLATE "default",
                                    ALTER endpoint TYPE text COLLATE "POSIX"`,
    );
    const { message } = await bootFailure({ database });
    expect(message).toContain(
      'the table "idempotency_keys" has another collation than "C" for key, endpoint',
    );
    await database.query(/ALTER TABLE [^;]*;/.exec(message)![0]);

    await database.query('ALTER TABLE idempotency_phases ALTER name TYPE text COLLATE "default"');
    // The keys are right again; the phases are the next table to be checked.
    expect((await bootFailure({ database })).message).toContain(
      'the table "idempotency_phases" has another collation than "C" for name',
    );
  });
});
