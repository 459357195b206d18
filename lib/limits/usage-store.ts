import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { PreparedStatement } from '../postgres/prepared-statement.js';
import { MOST_KEYS, type ResolvedLimits } from './resolve-limits.js';

/** What a row takes besides its variable columns, with its index entries and the room for updates. */
export const ROW_BYTES = 512;

/** What a scope has in the database. Counting stops above its limits. */
export interface Usage {
  /** What waits for a worker, the reconciler or a person. Attempts that run are not among them. */
  waiting: number;
  keys: number;
  bytes: number;
}

/** Counts what a scope has. Each count follows an index and stops one row above its limit. */
@Injectable()
export class UsageStore {
  private readonly statement: PreparedStatement;

  constructor(private readonly database: Database) {
    this.statement = new PreparedStatement(usageSql(database.table('idempotency_keys')));
  }

  async look(scope: string, limits: ResolvedLimits): Promise<Usage> {
    const [usage] = await this.database
      .for({ scope })
      .query<Usage>(this.statement, usageParameters(scope, limits));
    return usage!;
  }
}

export function usageParameters(
  scope: string,
  { outstanding, storedKeys, storedBytes }: ResolvedLimits,
): unknown[] {
  // Each row has ROW_BYTES at least, so no more rows than this fit.
  const rows = Math.min(storedKeys, Math.floor(storedBytes / ROW_BYTES), MOST_KEYS) + 1;
  const counts = storedKeys < Infinity || storedBytes < Infinity;
  return [scope, outstanding < Infinity ? outstanding + 1 : 0, counts ? rows : 0];
}

/** Public for tests, which check its plan. */
export function usageSql(keys: string): string {
  const size = (column: string) => `coalesce(pg_column_size(${column}), 0)`;
  return `SELECT
      -- the partial index on scope
      (SELECT count(*)::int FROM (
         SELECT 1 FROM ${keys}
         WHERE scope = $1 AND (resume_after IS NOT NULL OR reconcile_after IS NOT NULL)
           AND status <> 'in_progress'
         LIMIT $2
       ) w) AS waiting,
      s.keys, s.bytes
    FROM (
      SELECT count(*)::int AS keys, coalesce(sum(size), 0)::float8 AS bytes
      FROM (
        SELECT ${ROW_BYTES} + ${['response_body', 'response_headers', 'request', 'input'].map(size).join(' + ')} AS size
        FROM ${keys}
        WHERE scope = $1
        ORDER BY scope, key, endpoint -- by the primary key, whatever the statistics say
        LIMIT $3
      ) r
    ) s`;
}
