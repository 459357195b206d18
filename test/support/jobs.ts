import { Maintenance } from 'nestjs-atomic-idempotency';
import type { TestDatabase } from './database.js';
import type { TestApp } from './platforms.js';

/** One batch of a job, now. */
export function runJob(
  { app }: TestApp,
  job: Parameters<Maintenance['runOnce']>[0],
): Promise<number> {
  return app.get(Maintenance, { strict: false }).runOnce(job);
}

/** Makes a key look as if its attempt had begun long ago and given no sign of life since. */
export async function age(database: TestDatabase, key: string): Promise<void> {
  await database.query(
    `UPDATE idempotency_keys
     SET created_at = now() - interval '1 hour', last_run_at = now() - interval '1 hour',
         locked_until = now() - interval '1 minute',
         resume_after = now() + CASE WHEN resume_after IS NOT NULL THEN interval '0' END
     WHERE key = $1`,
    [key],
  );
}
