import { describe } from '@jest/globals';
import { Client } from 'pg';
import { onCluster } from '../support/cluster.js';
import type { TestDatabase } from '../support/database.js';

/** Runs where DATABASE_URL names the coordinator of a cluster: `npm run test:citus`. */
export const describeOnCitus: (subject: string, tests: () => void) => void = onCluster
  ? describe
  : describe.skip;

/** Scopes whose rows are on different workers. */
export async function scopesOnDifferentNodes(
  database: TestDatabase,
): Promise<[ScopeOnNode, ScopeOnNode]> {
  const rows = await database.query<ScopeOnNode>(
    `SELECT DISTINCT ON (nodeport) scope, nodeport AS port
     FROM (SELECT 'scope-' || n AS scope FROM generate_series(1, 100) n) s
     JOIN pg_dist_shard_placement p
       ON p.shardid = get_shard_id_for_distribution_column('idempotency_keys', scope)
     ORDER BY nodeport, scope`,
  );
  return [rows[0]!, rows[1]!];
}

/**
 * How many transactions were committed in two phases during the work: the coordinator has a record
 * of each for a while.
 */
export async function preparedDuring(
  database: TestDatabase,
  work: () => Promise<unknown>,
): Promise<number> {
  const records = () =>
    database.query<{ gid: string }>('SELECT DISTINCT gid FROM pg_dist_transaction');
  const before = new Set((await records()).map(({ gid }) => gid));
  await work();
  return (await records()).filter(({ gid }) => !before.has(gid)).length;
}

export interface ScopeOnNode {
  scope: string;
  /** Of its worker. */
  port: number;
}

/** The address of the same database on another node. */
export function onPort(database: TestDatabase, port: number): string {
  return Object.assign(new URL(database.url), { port: String(port) }).href;
}

export async function ask<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
}
