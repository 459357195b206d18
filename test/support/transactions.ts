import type { PoolClient } from 'pg';
import { onCluster } from './cluster.js';
import type { TestDatabase } from './database.js';
import { until } from './until.js';

/**
 * Another transaction of the test's own, open while `work` runs, and rolled
 * back at its end unless `work` committed it.
 */
export async function withTransaction<T>(
  database: TestDatabase,
  work: (tx: PoolClient) => Promise<T>,
): Promise<T> {
  const tx = await database.pool.connect();
  try {
    await tx.query('BEGIN');
    return await work(tx);
  } finally {
    // A no-op with a warning where it is over already.
    await tx.query('ROLLBACK');
    tx.release();
  }
}

const BLOCKED = `SELECT count(*)::int AS blocked FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Rows are locked on the worker that has them. */
const BLOCKED_ON_NODES = `SELECT sum(result::int)::int AS blocked
  FROM run_command_on_all_nodes($$${BLOCKED}$$)`;

/** Resolves when this many statements wait for a lock that somebody else holds. */
export async function untilBlocked(database: TestDatabase, count = 1): Promise<void> {
  await until(async () => {
    const [row] = await database.query<{ blocked: number }>(onCluster ? BLOCKED_ON_NODES : BLOCKED);
    return row!.blocked >= count;
  }, `${count} blocked statements`);
}
