import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fencesOf, pages } from '../checks/docs/pages.mjs';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const statements = pages()
  .flatMap(fencesOf)
  .filter(({ language }) => language === 'sql')
  .flatMap(({ page, line, code }) =>
    code
      .split(/;\s*\n/)
      .map((statement) => statement.trim())
      .filter((statement) => statement !== '')
      .map((statement) => [page, line, statement] as const),
  );

describe('SQL in the docs', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    // What a reader has of their own.
    await database.query('CREATE TABLE orders (id bigint PRIMARY KEY, item text)');
  });
  afterAll(() => database.drop());

  it.each(statements)('%s:%d runs: %s', async (_page, _line, statement) => {
    await expect(database.query(statement)).resolves.toBeDefined();
  });
});
