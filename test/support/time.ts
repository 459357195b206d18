import type { Queryable } from './database.js';

/**
 * Lets time pass for one key instead of waiting: all that happened to it, and
 * all that is due, moves that far into the past.
 *
 * @param interval in PostgreSQL's words: `31 seconds`, `23 hours`
 */
export async function passTime(database: Queryable, key: string, interval: string): Promise<void> {
  await database.query(
    `UPDATE idempotency_keys
     SET created_at = created_at - $2::interval,
         last_run_at = last_run_at - $2::interval,
         locked_until = locked_until - $2::interval,
         completed_at = completed_at - $2::interval,
         reconcile_after = reconcile_after - $2::interval,
         resume_after = resume_after - $2::interval,
         expires_at = expires_at - $2::interval
     WHERE key = $1`,
    [key, interval],
  );
}
