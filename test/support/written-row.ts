import type { TestDatabase } from './database.js';

/**
 * The row of a key with its physical version, or undefined. Two equal results
 * prove that nothing was written in between, not even the same values again.
 */
export async function writtenRow(
  database: TestDatabase,
  key: string,
): Promise<Record<string, unknown> | undefined> {
  const [row] = await database.query(
    'SELECT xmin::text, ctid::text, * FROM idempotency_keys WHERE key = $1',
    [key],
  );
  return row;
}
