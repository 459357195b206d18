import { Injectable } from '@nestjs/common';
import { ColumnCiphers, type ColumnCipher } from '../encryption/column-cipher.js';
import { PHASE } from '../encryption/columns.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { Database } from '../postgres/database.js';
import type { ErrorCode } from '../schema/error-code.js';
import { isKey, isPhaseOf, nameParameters, sameKey, type KeyName } from '../schema/key-name.js';
import { phaseInDoubt } from '../schema/phase-in-doubt.js';
import type { SeenKey } from '../keys/seen-key.js';
import { SEEN } from '../keys/seen-key.js';
import type { KeyStatus } from '../schema/key-status.js';
import { exactTime, isTime, withDates } from '../postgres/times.js';

/** A key with an unknown outcome that this process has claimed. */
export interface ClaimedUnknown extends SeenKey {
  status: KeyStatus;
  lastErrorCode: ErrorCode | null;
  /** How often a reconciler has been asked about it, this time included. */
  reconcileAttempts: number;
  /** The fence of the next statement: another claim changes it. */
  claim: string;
  /** The call in doubt; null if no call was recorded. */
  phase: string | null;
  effectKey: string | null;
  /** JSON text. */
  request: string | null;
  /** Why it cannot be read, so that nobody can be asked. */
  fault?: UnreadableRecordError | undefined;
  startedAt: Date | null;
  traceparent: string | null;
}

/** The statements of the reconciler job. Resolutions are written by the ResolutionStore. */
@Injectable()
export class ReconcilerStore {
  private readonly keys: string;
  private readonly phases: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /**
   * Claims unknown keys that are due, for `claim` milliseconds: until then no
   * other process asks about them. Keys whose reconciler this process does not
   * have are left to a process that has it.
   */
  async claim(
    recoveryPoints: readonly string[],
    claim: number,
    batch: number,
  ): Promise<ClaimedUnknown[]> {
    const { scopes } = this.database;
    const rows = await scopes.claim(
      batch,
      () => this.database.query<KeyName>(this.due('$1', '$2'), [recoveryPoints, batch]),
      (limit, scope) =>
        this.database.query<ClaimedUnknown>(
          `WITH due AS (
             ${this.due('$1', '$3', 4)}
             FOR UPDATE OF k SKIP LOCKED
           )
           UPDATE ${this.keys} k
           SET reconcile_after = now() + $2::float8 * interval '1 millisecond',
               reconcile_attempts = k.reconcile_attempts + 1
           FROM due
           WHERE ${sameKey('k', 'due')} AND ${scopes.has('k', 4)}
           RETURNING ${SEEN}, k.last_error_code AS "lastErrorCode",
                     k.reconcile_attempts AS "reconcileAttempts",
                     ${exactTime('k.reconcile_after')} AS "claim",
                     k.traceparent,
                     due.phase, due."effectKey", due.request, due."startedAt"`,
          [recoveryPoints, claim, limit, ...scope],
        ),
    );
    const cipherOf = await this.ciphers.readers(rows);
    return rows.map((row) => opened(withDates(row, 'startedAt'), cipherOf(row.scope)));
  }

  /** @param scope the number of the parameter that a claim is restricted by */
  private due(recoveryPoints: string, limit: string, scope?: number): string {
    const of = (row: string) =>
      scope === undefined ? 'true' : this.database.scopes.has(row, scope);
    return `SELECT k.scope, k.endpoint, k.key, doubt.*
            FROM ${this.keys} k
            LEFT JOIN LATERAL (${phaseInDoubt(this.phases, of('p'))}) doubt ON true
            WHERE k.reconcile_after <= now() AND k.status = 'unknown' AND ${of('k')}
              AND (doubt.phase IS NULL OR doubt.phase = ANY (${recoveryPoints}))
            ORDER BY k.reconcile_after
            LIMIT ${limit}`;
  }

  /** Unknown keys that are due and whose phase has no reconciler in this process, by phase. */
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
   * Whether a foreign call of the last attempt is on record with its outcome. The
   * attempt that left the key in doubt may have missed the reply to the commit.
   */
  async hasRecordedCall(claimed: ClaimedUnknown): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT FROM ${this.keys} k JOIN ${this.phases} p ON ${isPhaseOf('k')}
       WHERE ${isKey('k')} AND p.scope = $1
         AND p.kind = 'foreign' AND p.attempt = k.attempt AND p.state <> 'intended'`,
      nameParameters(claimed),
    );
    return rows.length > 0;
  }

  /**
   * The outcome is still unknown: ask again after a pause or, with null, leave
   * the key to people. False: somebody else has resolved or claimed it meanwhile.
   */
  async postpone(
    claimed: Pick<ClaimedUnknown, keyof KeyName | 'claim'>,
    pause: number | null,
    errorCode?: ErrorCode,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.keys} k
       SET reconcile_after = ${pause === null ? "'infinity'" : `now() + ${Number(pause)} * interval '1 millisecond'`},
           last_error_code = coalesce($5, last_error_code)
       WHERE ${isKey('k')} AND status = 'unknown' AND ${isTime('reconcile_after', 4)}
       RETURNING id`,
      [...nameParameters(claimed), claimed.claim, errorCode ?? null],
    );
    return rows.length === 1;
  }
}

function opened(row: ClaimedUnknown, cipher: ColumnCipher): ClaimedUnknown {
  if (row.phase === null) return row;
  try {
    const phase = { keyId: row.id, name: row.phase };
    return { ...row, request: cipher.openJson(row.request, PHASE.request, phase) ?? null };
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return { ...row, fault: error };
  }
}
