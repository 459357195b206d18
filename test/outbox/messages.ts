import type { TestDatabase } from '../support/database.js';

/** The messages that wait, are being delivered, or are dead letters, in their order. */
export function messages(database: TestDatabase): Promise<Record<string, any>[]> {
  return database.query('SELECT * FROM idempotency_outbox ORDER BY position');
}

/** A message, or undefined where it was delivered or rolled back. */
export async function message(
  database: TestDatabase,
  id: string,
): Promise<Record<string, any> | undefined> {
  const [row] = await database.query('SELECT * FROM idempotency_outbox WHERE id = $1', [id]);
  return row;
}

/** Instead of waiting: pauses are over and leases have lapsed, of one message or of all. */
export async function makeDue(database: TestDatabase, id?: string): Promise<void> {
  await database.query(
    `UPDATE idempotency_outbox SET available_at = now() - interval '1 second'
     WHERE dead_at IS NULL AND ($1::uuid IS NULL OR id = $1)`,
    [id ?? null],
  );
}

/** In milliseconds, as the store sees it. */
export async function databaseClock(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return row!.now.getTime();
}
