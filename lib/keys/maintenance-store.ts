import type { Database } from './database.js';
import type { SeenKey } from './key-store.js';
import type { KeyStatus } from './key-status.js';
import { milliseconds, withDates } from './times.js';

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
  /** How often workers have tried. */
  resumeAttempts: number;
  /** Those of the route. */
  leaseMs: number | null;
  maxRunTimeMs: number | null;
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

/** What a SeenKey is made of, and the status. */
export const SEEN = `k.id, k.owner, k.attempt, k.status, extract(epoch FROM k.locked_until)::text AS "lockedUntil"`;

/** In `last_error_code`: somebody asked for another round of the completer's attempts. */
export const RETRY_REQUESTED = 'retry_requested';

/** The statements of the jobs. They choose rows; what happens to one is fenced as in the key store. */
export class MaintenanceStore {
  private readonly keys: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
  }

  async progress(id: string, scope: string): Promise<KeyProgress | undefined> {
    const [row] = await this.database.query<KeyProgress>(
      `SELECT id, status, recovery_point AS "recoveryPoint", attempt AS "attempts",
              ${milliseconds('created_at')} AS "createdAt",
              ${milliseconds('last_run_at')} AS "lastRunAt",
              ${milliseconds('completed_at')} AS "completedAt",
              ${milliseconds('expires_at')} AS "expiresAt"
       FROM ${this.keys} WHERE id = $1 AND scope = $2`,
      [id, scope],
    );
    return row && withDates(row, 'createdAt', 'lastRunAt', 'completedAt', 'expiresAt');
  }

  /**
   * Claims operations whose time has come, oldest first, for as long as `claim`
   * says: until then no other process finds them, whatever becomes of this one.
   * Those that were tried too often are among them: somebody has to say so.
   */
  claimOperations(
    names: readonly string[],
    claim: number,
    batch: number,
  ): Promise<OpenOperation[]> {
    return this.database.query<OpenOperation>(
      `WITH due AS (
         SELECT k.id
         FROM ${this.keys} k
         WHERE k.resume_after <= now() AND k.status IN ('failed_retryable', 'pending')
           AND k.operation = ANY ($1)
         ORDER BY k.resume_after
         LIMIT $3
         FOR UPDATE SKIP LOCKED
       )
       UPDATE ${this.keys} k
       SET resume_after = now() + $2::float8 * interval '1 millisecond'
       FROM due
       WHERE k.id = due.id
       RETURNING ${SEEN}, k.scope, k.endpoint, k.key, k.fingerprint, k.operation, k.input::text AS "input",
                 k.recovery_point AS "recoveryPoint", k.resume_attempts AS "resumeAttempts",
                 k.lease_ms AS "leaseMs", k.max_run_time_ms::float8 AS "maxRunTimeMs"`,
      [names, claim, batch],
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
