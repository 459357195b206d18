import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import type { SeenKey } from '../keys/seen-key.js';
import { SEEN } from '../keys/seen-key.js';
import type { KeyStatus } from '../schema/key-status.js';

/** A key whose lease has lapsed. */
export interface LapsedKey extends SeenKey {
  status: KeyStatus;
  operation: string | null;
  onAbandoned: 'resume' | null;
}

/** The result of one page of the walk. */
export interface WalkedPage {
  /** Where the next page begins. */
  last: string;
  /** Rows up to here need not be read again. */
  settled: string;
  rows: number;
}

/** What the walk reads of a page. */
interface ReadPage {
  last: string;
  rows: number;
  /** The last of its keys before which no invisible row can be. */
  old: string;
  /** Keys in progress that are not marked yet, in order. */
  ids: string[];
  scopes: string[];
}

/**
 * A reservation gets its id some time before others can see its row: at most as
 * long as its statement may take (storeTimeout plus a second). No row that is
 * older than this has an invisible row before it.
 */
const SETTLING_TIME = '60 seconds';

/** The sweeper's row in `idempotency_jobs`. */
const JOB = 'sweeper';

/** The statements of the sweeper. */
@Injectable()
export class SweeperStore {
  private readonly keys: string;
  private readonly jobs: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.jobs = database.table('idempotency_jobs');
  }

  /**
   * Claims the walk for this process for `claim` milliseconds and returns where
   * it begins. Undefined: another process walks, or has just walked.
   *
   * @param anyway claims it even then
   */
  async claimWalk(claim: number, anyway: boolean): Promise<string | undefined> {
    const [row] = await this.database.query<{ position: string }>(
      `INSERT INTO ${this.jobs} AS j (job, claimed_until)
       VALUES ('${JOB}', now() + $1::float8 * interval '1 millisecond')
       ON CONFLICT (job) DO UPDATE SET claimed_until = excluded.claimed_until
       WHERE j.claimed_until <= now() OR $2::boolean
       RETURNING position::text AS position`,
      [claim, anyway],
    );
    return row?.position;
  }

  /**
   * One page of the walk through the ids: keys in progress are marked, so that an
   * index finds them from then on. First attempts are in no such index: it would
   * make the end of every request more expensive, and reading each row once or
   * twice is cheaper. A key that could not be marked is read again later: its row
   * is locked, or its attempt has just ended.
   */
  async walk(after: string, size: number): Promise<WalkedPage> {
    const [page] = await this.database.query<ReadPage>(
      `SELECT coalesce(max(id), $1)::text AS last, count(*)::int AS rows,
              coalesce(max(id) FILTER (WHERE old), $1)::text AS old,
              coalesce(array_agg(id ORDER BY id) FILTER (WHERE unmarked), '{}') AS ids,
              coalesce(array_agg(scope ORDER BY id) FILTER (WHERE unmarked), '{}') AS scopes
       FROM (
         SELECT id, scope, created_at < now() - interval '${SETTLING_TIME}' AS old,
                status = 'in_progress' AND resume_after IS NULL AS unmarked
         FROM ${this.keys}
         WHERE id > $1
         ORDER BY id
         LIMIT $2
       ) page`,
      [after, size],
    );
    const { last, rows, old, ids, scopes } = page!;
    const marked = await this.mark(ids.map((id, index) => ({ id, scope: scopes[index]! })));
    const blocked = ids.find((id) => !marked.has(id));
    const settled =
      blocked !== undefined && BigInt(blocked) <= BigInt(old) ? String(BigInt(blocked) - 1n) : old;
    return { last, rows, settled };
  }

  private async mark(keys: readonly { scope: string; id: string }[]): Promise<Set<string>> {
    if (keys.length === 0) return new Set();
    const { scopes } = this.database;
    const rows = await scopes.each(keys, (some, scope) =>
      this.database.query<{ id: string }>(
        `WITH free AS (
           SELECT k.id FROM ${this.keys} k
           WHERE k.id = ANY ($1::bigint[]) AND k.status = 'in_progress' AND ${scopes.has('k', 2)}
           FOR NO KEY UPDATE SKIP LOCKED
         )
         UPDATE ${this.keys} k SET resume_after = k.locked_until
         FROM free WHERE k.id = free.id AND ${scopes.has('k', 2)}
         RETURNING k.id`,
        [some.map(({ id }) => id), ...scope],
      ),
    );
    return new Set(rows.map((row) => row.id));
  }

  /** The next walk, of any process, begins there. The position never decreases. */
  async settle(position: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.jobs} SET position = greatest(position, $1::bigint) WHERE job = '${JOB}'`,
      [position],
    );
  }

  /** Keys in progress whose lease has lapsed, by the index. */
  lapsed(batch: number, except: readonly string[]): Promise<LapsedKey[]> {
    return this.database.query<LapsedKey>(
      `SELECT ${SEEN}, k.operation, k.on_abandoned AS "onAbandoned"
       FROM ${this.keys} k
       WHERE k.resume_after <= now() AND k.status = 'in_progress' AND k.locked_until <= now()
         AND NOT k.id = ANY ($2::bigint[])
       ORDER BY k.resume_after
       LIMIT $1`,
      [batch, except],
    );
  }
}
