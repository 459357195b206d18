// A disk that takes longer to flush than the one of this machine, as those of most servers do.

/**
 * Has the embedded PostgreSQL take so much longer for each commit that waits for the disk.
 *
 * @param {string} milliseconds
 */
export function chooseDisk(milliseconds) {
  const longer = Number(milliseconds);
  if (!(longer > 0 && longer <= 100)) {
    throw new Error('--flush takes milliseconds, from above 0 to 100.');
  }
  if (process.env.DATABASE_URL) {
    throw new Error(
      '--flush changes settings of the server, and that of DATABASE_URL is not ours.',
    );
  }
  process.env.BENCH_FLUSH = String(longer);
}

/**
 * PostgreSQL can pause before it flushes, so that other commits come along.
 *
 * @param {import('pg').Client} client
 * @returns {Promise<string>} what a report says about the disk
 */
export async function slowDown(client) {
  const longer = Number(process.env.BENCH_FLUSH ?? 0);
  if (longer === 0) return 'fsync on';
  await client.query(`ALTER SYSTEM SET commit_delay = ${Math.round(longer * 1_000)}`);
  // Also where no other transaction is open.
  await client.query('ALTER SYSTEM SET commit_siblings = 0');
  await client.query('SELECT pg_reload_conf()');
  return `fsync on, each flush ${longer} ms later`;
}
