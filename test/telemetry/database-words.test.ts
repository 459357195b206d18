import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Database } from '../../lib/postgres/database.js';
import { databaseWords } from '../../lib/postgres/database-words.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

describe("The database's message", () => {
  let database: TestDatabase;
  beforeAll(async () => void (database = await createTestDatabase({ migrated: false })));
  afterAll(() => database.drop());

  /** Why a statement of the store failed, as the store says it. */
  async function failureOf(statement: string): Promise<unknown> {
    const source = await new DataSource(database.dataSourceOptions).initialize();
    try {
      return await new Database(source, 5_000).query(statement, []).catch((error) => error);
    } finally {
      await source.destroy();
    }
  }

  it('is that of the server, with its SQLSTATE', async () => {
    expect(databaseWords(await failureOf('SELECT * FROM missing'))).toBe(
      'relation "missing" does not exist (42P01)',
    );
  });

  it('is that of the network if no server answers', async () => {
    const source = new DataSource({ type: 'postgres', host: '127.0.0.1', port: 1 });
    const refused = await source.initialize().catch((error: unknown) => error);
    expect(databaseWords(new Error('outer', { cause: refused }))).toMatch(/\(ECONNREFUSED\)$/);
  });

  it("is the error's own message if it has no cause, in one line", () => {
    expect(databaseWords(new Error('The database did not\n  answer.'))).toBe(
      'The database did not answer.',
    );
    expect(databaseWords('odd')).toBe('odd');
  });
});
