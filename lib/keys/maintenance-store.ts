import type { Database } from './database.js';
import type { SeenKey } from './key-store.js';
import type { KeyStatus } from './key-status.js';

/** A key whose attempt gave no sign of life for the length of its lease. */
export interface LapsedKey extends SeenKey {
  status: KeyStatus;
  onAbandoned: 'resume' | null;
}

/** A key whose operation can be completed without its client. */
export interface OpenOperation extends SeenKey {
  status: KeyStatus;
  scope: string;
  endpoint: string;
  key: string;
  fingerprint: Buffer;
  recoveryPoint: string;
  operation: string;
  /** JSON text. */
  input: string | null;
}

/** How far a key has come, as its caller may see it. */
export interface KeyProgress {
  id: string;
  status: KeyStatus;
  recoveryPoint: string;
  attempts: number;
  createdAt: Date;
  lastRunAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
}

/**
 * A reservation becomes visible some milliseconds after its id was drawn. The
 * sweeper's walk along the ids stays this far behind, so that it passes none.
 */
const SETTLING_TIME = '10 seconds';

/** What a SeenKey is made of, and the status. */
export const SEEN = `k.id, k.owner, k.attempt, k.status, extract(epoch FROM k.locked_until)::text AS "lockedUntil"`;

/** In `last_error_code`: somebody asked for one more attempt, beyond the completer's bound. */
export const RETRY_REQUESTED = 'retry_requested';

/** The statements of the jobs. They choose rows; what happens to one is fenced as in the key store. */
export class MaintenanceStore {
  private readonly keys: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
  }

  /**
   * One page of the walk along the ids: which of the keys after `after` are in
   * progress, and where the page ends. First attempts have no index of their
   * own, because it would make the end of every request more expensive; reading
   * each row once is cheaper.
   */
  async page(
    after: string,
    size: number,
  ): Promise<{ open: string[]; last: string; full: boolean }> {
    const [row] = await this.database.query<{
      open: string[] | null;
      last: string | null;
      rows: number;
    }>(
      `SELECT array_agg(id::text) FILTER (WHERE status = 'in_progress') AS "open",
              max(id)::text AS "last", count(*)::int AS "rows"
       FROM (
         SELECT id, status FROM ${this.keys}
         WHERE id > $1 AND created_at < now() - interval '${SETTLING_TIME}'
         ORDER BY id
         LIMIT $2
       ) page`,
      [after, size],
    );
    return { open: row?.open ?? [], last: row?.last ?? after, full: row?.rows === size };
  }

  /** Of the keys that were in progress, those that still are; with those in a later attempt. */
  async lapsed(
    ids: readonly string[],
    batch: number,
  ): Promise<{ live: string[]; lapsed: LapsedKey[] }> {
    const rows = await this.database.query<LapsedKey & { isLapsed: boolean }>(
      `SELECT ${SEEN}, k.on_abandoned AS "onAbandoned", k.locked_until <= now() AS "isLapsed"
       FROM ${this.keys} k
       WHERE k.id = ANY ($1::bigint[]) AND k.status = 'in_progress'
       UNION ALL
       (SELECT ${SEEN}, k.on_abandoned, true
        FROM ${this.keys} k
        WHERE k.resume_after <= now() AND k.status = 'in_progress' AND k.locked_until <= now()
          AND NOT k.id = ANY ($1::bigint[])
        ORDER BY k.resume_after
        LIMIT $2)`,
      [ids, batch],
    );
    return {
      live: rows.filter((row) => !row.isLapsed).map((row) => row.id),
      lapsed: rows.filter((row) => row.isLapsed),
    };
  }

  async progress(id: string, scope: string): Promise<KeyProgress | undefined> {
    const [row] = await this.database.query<KeyProgress>(
      `SELECT id, status, recovery_point AS "recoveryPoint", attempt AS "attempts",
              created_at AS "createdAt", last_run_at AS "lastRunAt", completed_at AS "completedAt",
              expires_at AS "expiresAt"
       FROM ${this.keys} WHERE id = $1 AND scope = $2`,
      [id, scope],
    );
    return row;
  }

  /** Nobody runs it, and a retry or the completer may. False: something happened meanwhile. */
  async release(seen: SeenKey): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.keys}
       SET status = 'failed_retryable', last_error_code = 'abandoned',
           resume_after = CASE WHEN operation IS NOT NULL THEN now() END
       WHERE id = $1 AND owner = $2 AND attempt = $3 AND extract(epoch FROM locked_until) = $4::numeric
         AND status = 'in_progress' AND locked_until <= now()
       RETURNING id`,
      [seen.id, seen.owner, seen.attempt, seen.lockedUntil],
    );
    return rows.length === 1;
  }

  /**
   * Claims operations whose time has come, oldest first, for as long as `claim`
   * says: until then no other process finds them, whatever becomes of this one.
   */
  claimOperations(
    names: readonly string[],
    maxAttempts: number,
    claim: number,
    batch: number,
  ): Promise<OpenOperation[]> {
    return this.database.query<OpenOperation>(
      `WITH due AS (
         SELECT k.id
         FROM ${this.keys} k
         WHERE k.resume_after <= now() AND k.status IN ('failed_retryable', 'pending')
           AND k.operation = ANY ($1)
           AND (k.attempt <= $2 OR k.last_error_code = '${RETRY_REQUESTED}')
         ORDER BY k.resume_after
         LIMIT $4
         FOR UPDATE SKIP LOCKED
       )
       UPDATE ${this.keys} k
       SET resume_after = now() + $3::float8 * interval '1 millisecond'
       FROM due
       WHERE k.id = due.id
       RETURNING ${SEEN}, k.scope, k.endpoint, k.key, k.fingerprint, k.operation, k.input::text AS "input",
                 k.recovery_point AS "recoveryPoint"`,
      [names, maxAttempts, claim, batch],
    );
  }

  /** Operations that wait and that nobody here knows: those of an old deployment. */
  strangeOperations(names: readonly string[]): Promise<{ operation: string; count: number }[]> {
    return this.database.query(
      `SELECT operation, count(*)::int AS "count"
       FROM ${this.keys}
       WHERE resume_after <= now() AND status IN ('failed_retryable', 'pending')
         AND NOT operation = ANY ($1)
       GROUP BY operation`,
      [names],
    );
  }
}
