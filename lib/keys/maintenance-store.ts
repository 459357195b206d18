import type { Database } from '../postgres/database.js';
import type { SeenKey } from './key-store.js';
import type { KeyStatus } from './key-status.js';
import { milliseconds, withDates } from '../postgres/times.js';

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
  /** Nothing is left to do. The answer itself is for a retry of the request. */
  done: boolean;
  recoveryPoint: string;
  attempts: number;
  /** How the resumable operation ended, if it has and there is one. */
  outcome:
    | { kind: 'finished'; result: unknown }
    | { kind: 'rejected'; status: number; response: unknown }
    | null;
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

  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  async progress(id: string, scope: string): Promise<KeyProgress | undefined> {
    const [row] = await this.database.query<ProgressRow>(
      `SELECT k.id, k.status, k.recovery_point AS "recoveryPoint", k.attempt AS "attempts",
              k.status IN ('performed', 'completed') AS done, o.state, o.result,
              ${milliseconds('k.created_at')} AS "createdAt",
              ${milliseconds('k.last_run_at')} AS "lastRunAt",
              ${milliseconds('k.completed_at')} AS "completedAt",
              ${milliseconds('k.expires_at')} AS "expiresAt"
       FROM ${this.keys} k
       LEFT JOIN ${this.phases} o ON o.key_id = k.id AND o.kind = 'operation'
       WHERE k.id = $1 AND k.scope = $2`,
      [id, scope],
    );
    if (!row) return undefined;
    const { state, result, ...progress } = row;
    return {
      ...withDates(progress, 'createdAt', 'lastRunAt', 'completedAt', 'expiresAt'),
      outcome: outcomeOf(state, result),
    };
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

interface ProgressRow extends Omit<KeyProgress, 'outcome'> {
  state: 'finished' | 'rejected' | null;
  result: unknown;
}

function outcomeOf(state: ProgressRow['state'], result: unknown): KeyProgress['outcome'] {
  if (state === null) return null;
  if (state === 'finished') return { kind: 'finished', result };
  const { status, response } = result as { status: number; response: unknown };
  return { kind: 'rejected', status, response };
}
