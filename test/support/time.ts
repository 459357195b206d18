import type { Queryable } from './database.js';

/**
 * In SQL: the time of a column, moved that far into the past. In UTC, where this is arithmetic
 * without the session's time zone: Citus refuses the other kind on columns of distributed tables.
 *
 * @param interval an expression of type interval
 */
export function earlier(column: string, interval: string): string {
  return `(${column} AT TIME ZONE 'UTC' - ${interval}) AT TIME ZONE 'UTC'`;
}

/** All times of a key that lie in the past, or are due. */
const TIMES = [
  'created_at',
  'last_run_at',
  'locked_until',
  'completed_at',
  'reconcile_after',
  'resume_after',
  'expires_at',
];

/**
 * Lets time pass for one key instead of waiting: all that happened to it, and
 * all that is due, moves that far into the past.
 *
 * @param interval in PostgreSQL's words: `31 seconds`, `23 hours`
 */
export async function passTime(database: Queryable, key: string, interval: string): Promise<void> {
  await database.query(
    `UPDATE idempotency_keys
     SET ${TIMES.map((time) => `${time} = ${earlier(time, '$2::interval')}`).join()}
     WHERE key = $1`,
    [key, interval],
  );
}
