/** The servers of this run: a single one, or the coordinator of a Citus cluster and its workers. */
export const SERVERS = (process.env.TEST_SERVERS ?? '').split(' ');

/** The library's tables are distributed over several servers: see citus-nodes.mjs. */
export const onCluster = SERVERS.length > 1;

/**
 * A lease, in milliseconds, that is as short as the servers allow. A statement may not take longer
 * than the lease, and a coordinator connects to a worker before its first one.
 */
export function shortLease(milliseconds: number): number {
  return onCluster ? 4 * milliseconds : milliseconds;
}
