import { escapeIdentifier, escapeLiteral } from 'pg';
import type { TestDatabase } from './database.js';

/**
 * Makes the database refuse one kind of statement on the row of one key, until
 * the returned function is called. Other keys are not affected.
 */
export async function refuseStatements(
  database: TestDatabase,
  statement: 'INSERT' | 'UPDATE' | 'DELETE',
  key: string,
): Promise<() => Promise<void>> {
  const trigger = escapeIdentifier(`refuse ${statement} of ${key}`);
  const row = statement === 'DELETE' ? 'OLD' : 'NEW';
  await database.query(`
    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'refused by the test'; END $$`);
  await database.query(`
    CREATE TRIGGER ${trigger} BEFORE ${statement} ON idempotency_keys
    FOR EACH ROW WHEN (${row}.key = ${escapeLiteral(key)}) EXECUTE FUNCTION refuse()`);
  return async () => {
    await database.query(`DROP TRIGGER ${trigger} ON idempotency_keys`);
  };
}
