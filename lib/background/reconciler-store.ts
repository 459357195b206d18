import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import type { ErrorCode } from '../schema/error-code.js';
import { isKey, nameParameters, sameKey, type KeyName } from '../schema/key-name.js';
import { phaseInDoubt } from '../schema/phase-in-doubt.js';
import type { SeenKey } from '../keys/seen-key.js';
import { SEEN } from '../keys/seen-key.js';
import type { KeyStatus } from '../schema/key-status.js';
import { withDates } from '../postgres/times.js';

/** A key with an unknown outcome, which this process alone looks into for a while. */
export interface ClaimedUnknown extends SeenKey {
  status: KeyStatus;
  lastErrorCode: ErrorCode | null;
  /** How often it has been looked into, this time included. */
  reconcileAttempts: number;
  /** What the next statement about it has to name: another claim changes it. */
  claim: string;
  /** The call that is in doubt; null where the handler has none on record. */
  phase: string | null;
  effectKey: string | null;
  /** JSON text. */
  request: string | null;
  startedAt: Date | null;
  traceparent: string | null;
}

/** The statements of the reconciler job. What was found out is written by the operator's store. */
@Injectable()
export class ReconcilerStore {
  private readonly keys: string;
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /**
   * Claims keys whose outcome is to be looked into, for as long as `claim` says:
   * until then no other process asks about them. Those whose reconciler is not in
   * this process are left to one that has it.
   */
  async claim(
    recoveryPoints: readonly string[],
    claim: number,
    batch: number,
  ): Promise<ClaimedUnknown[]> {
    const rows = await this.database.query<ClaimedUnknown>(
      `WITH due AS (
         SELECT k.scope, k.endpoint, k.key, doubt.*
         FROM ${this.keys} k
         LEFT JOIN LATERAL (${phaseInDoubt(this.phases)}) doubt ON true
         WHERE k.reconcile_after <= now() AND k.status = 'unknown'
           AND (doubt.phase IS NULL OR doubt.phase = ANY ($1))
         ORDER BY k.reconcile_after
         LIMIT $3
         FOR UPDATE OF k SKIP LOCKED
       )
       UPDATE ${this.keys} k
       SET reconcile_after = now() + $2::float8 * interval '1 millisecond',
           reconcile_attempts = k.reconcile_attempts + 1
       FROM due
       WHERE ${sameKey('k', 'due')}
       RETURNING ${SEEN}, k.last_error_code AS "lastErrorCode",
                 k.reconcile_attempts AS "reconcileAttempts",
                 extract(epoch FROM k.reconcile_after)::text AS "claim",
                 k.traceparent,
                 due.phase, due."effectKey", due.request, due."startedAt"`,
      [recoveryPoints, claim, batch],
    );
    return rows.map((row) => withDates(row, 'startedAt'));
  }

  /** Unknown keys that are due, by the phase in doubt that nobody in this process can be asked about. */
  unaskable(recoveryPoints: readonly string[]): Promise<{ phase: string; count: number }[]> {
    return this.database.query(
      `SELECT doubt.phase, count(*)::int AS "count"
       FROM ${this.keys} k
       CROSS JOIN LATERAL (${phaseInDoubt(this.phases)}) doubt
       WHERE k.reconcile_after <= now() AND k.status = 'unknown' AND NOT doubt.phase = ANY ($1)
       GROUP BY doubt.phase`,
      [recoveryPoints],
    );
  }

  /**
   * Nothing was found out: look again after a pause, or never, which leaves the
   * key to people. False: it was resolved or claimed by somebody else meanwhile.
   */
  async postpone(
    claimed: Pick<ClaimedUnknown, keyof KeyName | 'claim'>,
    pause: number | null,
    errorCode?: ErrorCode,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.keys} k
       SET reconcile_after = coalesce(now() + $5::float8 * interval '1 millisecond', 'infinity'),
           last_error_code = coalesce($6, last_error_code)
       WHERE ${isKey('k')} AND status = 'unknown' AND extract(epoch FROM reconcile_after) = $4::numeric
       RETURNING id`,
      [...nameParameters(claimed), claimed.claim, pause, errorCode ?? null],
    );
    return rows.length === 1;
  }
}
