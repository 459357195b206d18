import type { EntityManager } from 'typeorm';
import type { Attempt } from '../keys/attempt.js';
import type { Database } from '../keys/database.js';
import type { InDoubt, PhaseKind, PhaseRecord, PhaseState } from './phase-record.js';

/** In `last_error_code`: nothing is left to do but to answer, should the client come back. */
export const OPERATION_FINISHED = 'operation_finished';

/** Behind every phase. */
const LAST_POSITION = 2_147_483_647;

/** A foreign call about to be made. */
export interface Intent {
  name: string;
  position: number;
  effectKey: string;
  inDoubt: InDoubt;
  keyValidFor: number | null;
  request: string | undefined;
}

/** How a phase ended. */
export interface PhaseEnding {
  name: string;
  position: number;
  kind: PhaseKind;
  state: Exclude<PhaseState, 'intended' | 'reconciled'>;
  result: string | undefined;
}

/**
 * Every statement on `idempotency_phases`. Writes carry the fence: they touch
 * the key's row by id, owner and status, and without it nothing is written.
 */
export class PhaseStore {
  private readonly phases: string;
  private readonly keys: string;

  constructor(private readonly database: Database) {
    this.phases = database.table('idempotency_phases');
    this.keys = database.table('idempotency_keys');
  }

  /** What earlier attempts of a key recorded, in order. */
  async load(keyId: string): Promise<PhaseRecord[]> {
    const rows = await this.database.query<PhaseRow>(
      `SELECT name, position, kind, state,
              effect_key AS "effectKey",
              in_doubt AS "inDoubt",
              coalesce(key_valid_until <= now(), false) AS "keyForgotten",
              started_at AS "startedAt",
              request::text AS "request",
              result::text AS "result"
       FROM ${this.phases}
       WHERE key_id = $1
       ORDER BY position`,
      [keyId],
    );
    return rows.map((row) => ({
      ...row,
      request: row.request ?? undefined,
      result: row.result ?? undefined,
    }));
  }

  /**
   * Commits the intent of a foreign call, which also renews the lease. An
   * earlier intent keeps its effect key and its request, and, unless it is
   * certain that nothing came of it, the time from which the other system
   * remembers the key. Undefined: the lease is lost.
   */
  async intend(attempt: Attempt, intent: Intent): Promise<{ startedAt: Date } | undefined> {
    const [row] = await this.database.query<{ startedAt: Date }>(
      `WITH fence AS (
         UPDATE ${this.keys}
         SET locked_until = clock_timestamp() + $3::float8 * interval '1 millisecond',
             operation = coalesce(operation, $11), input = coalesce(input, $12::json)
         WHERE id = $1 AND owner = $2 AND status = 'in_progress'
         RETURNING id
       )
       INSERT INTO ${this.phases} AS p
         (key_id, name, position, kind, state, attempt, effect_key, in_doubt, key_valid_until, request)
       SELECT id, $4, $5, 'foreign', 'intended', $6, $7, $8,
              clock_timestamp() + $9::float8 * interval '1 millisecond', $10::json
       FROM fence
       ON CONFLICT (key_id, name) DO UPDATE
         SET state = 'intended', attempt = excluded.attempt, in_doubt = excluded.in_doubt,
             started_at = CASE p.state WHEN 'withdrawn' THEN excluded.started_at ELSE p.started_at END,
             key_valid_until =
               CASE p.state WHEN 'withdrawn' THEN excluded.key_valid_until ELSE p.key_valid_until END,
             finished_at = NULL
         WHERE p.state IN ('intended', 'withdrawn')
       RETURNING started_at AS "startedAt"`,
      [
        attempt.id,
        attempt.owner,
        attempt.lease,
        intent.name,
        intent.position,
        attempt.number,
        intent.effectKey,
        intent.inDoubt,
        intent.keyValidFor,
        intent.request ?? null,
        attempt.operation?.name ?? null,
        attempt.operation?.input ?? null,
      ],
    );
    return row;
  }

  /**
   * Ends a phase inside the transaction of its work, so that both commit or
   * neither does. False: the lease is lost, and the transaction must roll back.
   */
  async finish(tx: EntityManager, attempt: Attempt, ending: PhaseEnding): Promise<boolean> {
    const { records } = await tx.queryRunner!.query(
      this.finishSql,
      this.finishParameters(attempt, ending),
      true,
    );
    return (records as unknown[]).length === 1;
  }

  /** The same for an end without work of its own: a rejection, or a withdrawn intent. */
  async finishAlone(attempt: Attempt, ending: PhaseEnding): Promise<boolean> {
    const rows = await this.database.query(this.finishSql, this.finishParameters(attempt, ending));
    return rows.length === 1;
  }

  /**
   * Records the end of an operation that was completed without its client. The
   * key stays open: the client's retry renders and stores the answer.
   */
  async finishOperation(
    attempt: Attempt,
    state: 'finished' | 'rejected',
    result: string | undefined,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `WITH fence AS (
         UPDATE ${this.keys}
         SET status = 'failed_retryable', last_error_code = '${OPERATION_FINISHED}', resume_after = NULL
         WHERE id = $1 AND owner = $2 AND status = 'in_progress'
         RETURNING id, operation
       )
       INSERT INTO ${this.phases} (key_id, name, position, kind, state, attempt, result, finished_at)
       SELECT id, 'operation:' || operation, ${LAST_POSITION}, 'operation', $3, $4, $5::json, clock_timestamp()
       FROM fence
       RETURNING key_id`,
      [attempt.id, attempt.owner, state, attempt.number, result ?? null],
    );
    return rows.length === 1;
  }

  /**
   * How this attempt ended a phase, if it did. Asked after a lost connection:
   * the lock waits until the transaction that may still be committing is over.
   */
  async endOf(attempt: Attempt, name: string): Promise<{ result: string | undefined } | undefined> {
    await this.database.query(`SELECT id FROM ${this.keys} WHERE id = $1 FOR NO KEY UPDATE`, [
      attempt.id,
    ]);
    const [row] = await this.database.query<{ result: string | null }>(
      `SELECT result::text AS "result" FROM ${this.phases}
       WHERE key_id = $1 AND name = $2 AND attempt = $3 AND state NOT IN ('intended', 'reconciled')`,
      [attempt.id, name, attempt.number],
    );
    return row && { result: row.result ?? undefined };
  }

  /** Only a finished phase is a recovery point. */
  private get finishSql(): string {
    return `WITH fence AS (
        UPDATE ${this.keys}
        SET recovery_point = CASE WHEN $7 = 'finished' THEN $4 ELSE recovery_point END,
            locked_until = clock_timestamp() + $3::float8 * interval '1 millisecond',
            operation = coalesce(operation, $10), input = coalesce(input, $11::json)
        WHERE id = $1 AND owner = $2 AND status = 'in_progress'
        RETURNING id
      )
      INSERT INTO ${this.phases} AS p (key_id, name, position, kind, state, attempt, result, finished_at)
      SELECT id, $4::text, $5, $6, $7::text, $8, $9::json, clock_timestamp()
      FROM fence
      ON CONFLICT (key_id, name) DO UPDATE
        SET state = excluded.state, attempt = excluded.attempt,
            result = excluded.result, finished_at = excluded.finished_at
        WHERE p.state IN ('intended', 'withdrawn', 'reconciled')
      RETURNING key_id`;
  }

  private finishParameters(attempt: Attempt, ending: PhaseEnding): unknown[] {
    return [
      attempt.id,
      attempt.owner,
      attempt.lease,
      ending.name,
      ending.position,
      ending.kind,
      ending.state,
      attempt.number,
      ending.result ?? null,
      attempt.operation?.name ?? null,
      attempt.operation?.input ?? null,
    ];
  }
}

/** SQL's NULL is the one way to store `undefined`. */
interface PhaseRow extends Omit<PhaseRecord, 'request' | 'result'> {
  request: string | null;
  result: string | null;
}
