import { Injectable } from '@nestjs/common';
import { SEEN, type SeenKey } from '../keys/seen-key.js';
import { Database } from '../postgres/database.js';
import { sameKey, type KeyName } from '../schema/key-name.js';
import type { KeyStatus } from '../schema/key-status.js';

/** A key whose operation can be completed without its client. */
export interface OpenOperation extends SeenKey {
  status: KeyStatus;
  fingerprint: Buffer;
  recoveryPoint: string;
  operation: string;
  /** JSON text, as it is stored. */
  input: string | null;
  /** How often workers have tried it. */
  resumeAttempts: number;
  /** The route's values. */
  leaseMs: number | null;
  maxRunTimeMs: number | null;
  traceparent: string | null;
}

/**
 * The statements of the completer. They select rows; changes of a row are fenced
 * as in the key store.
 */
@Injectable()
export class CompleterStore {
  private readonly keys: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
  }

  /**
   * Claims operations that are due, oldest first, for `claim` milliseconds: until
   * then no other process finds them, even if this one dies. Operations that were
   * tried too often are included, so that they can be reported.
   */
  claimOperations(
    names: readonly string[],
    claim: number,
    batch: number,
  ): Promise<OpenOperation[]> {
    const { scopes } = this.database;
    return scopes.claim(
      batch,
      () => this.database.query<KeyName>(this.due('$1', '$2'), [names, batch]),
      (limit, scope) =>
        this.database.query<OpenOperation>(
          `WITH due AS (
             ${this.due('$1', '$3', scopes.has('k', 4))}
             FOR UPDATE SKIP LOCKED
           )
           UPDATE ${this.keys} k
           SET resume_after = now() + $2::float8 * interval '1 millisecond'
           FROM due
           WHERE ${sameKey('k', 'due')} AND ${scopes.has('k', 4)}
           RETURNING ${SEEN}, k.fingerprint, k.operation, k.input::text AS "input",
                     k.recovery_point AS "recoveryPoint", k.resume_attempts AS "resumeAttempts",
                     k.traceparent, k.lease_ms AS "leaseMs", k.max_run_time_ms::float8 AS "maxRunTimeMs"`,
          [names, claim, limit, ...scope],
        ),
    );
  }

  private due(names: string, limit: string, where = 'true'): string {
    return `SELECT k.scope, k.endpoint, k.key
            FROM ${this.keys} k
            WHERE k.resume_after <= now() AND k.status IN ('failed_retryable', 'pending')
              AND k.operation = ANY (${names}) AND ${where}
            ORDER BY k.resume_after
            LIMIT ${limit}`;
  }

  /**
   * Operations that wait and that this process does not have, such as those of an
   * old deployment.
   */
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
