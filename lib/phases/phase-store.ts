import type { EntityManager } from 'typeorm';
import type { Attempt } from '../keys/attempt.js';
import type { Database } from '../keys/database.js';
import { parametersFor } from '../keys/given-rows.js';
import { PreparedStatement } from '../keys/prepared-statement.js';
import type { InDoubt, PhaseKind, PhaseRecord, PhaseState } from './phase-record.js';
import { finishIntendedSql, finishSql, intendAndFinishSql, intendSql } from './phase-statements.js';

/** In `last_error_code`: nothing is left to do but to answer, should the client come back. */
export const OPERATION_FINISHED = 'operation_finished';

/** Behind every phase. */
const LAST_POSITION = 2_147_483_647;

/** A foreign call about to be made. */
export interface Intent {
  attempt: Attempt;
  name: string;
  position: number;
  effectKey: string;
  inDoubt: InDoubt;
  keyValidFor: number | null;
  request: string | undefined;
}

/** How a phase ended. */
export interface PhaseEnding {
  attempt: Attempt;
  name: string;
  position: number;
  kind: PhaseKind;
  state: Exclude<PhaseState, 'intended' | 'reconciled'>;
  result: string | undefined;
}

/** What of a batch is on record, by the owner of its attempt. */
export interface RecordedPhases {
  intended: Map<string, { startedAt: Date }>;
  finished: Set<string>;
}

/**
 * Every statement on `idempotency_phases`. Writes carry the fence: they touch
 * the key's row by id, owner and status, and without it nothing is written.
 */
export class PhaseStore {
  private readonly phases: string;
  private readonly keys: string;
  private readonly intendStatement: PreparedStatement;
  private readonly finishStatement: PreparedStatement;
  private readonly finishIntendedStatement: PreparedStatement;
  private readonly intendAndFinishStatement: PreparedStatement;

  constructor(private readonly database: Database) {
    this.phases = database.table('idempotency_phases');
    this.keys = database.table('idempotency_keys');
    this.intendStatement = new PreparedStatement(intendSql(this.keys, this.phases));
    this.finishStatement = new PreparedStatement(finishSql(this.keys, this.phases));
    this.finishIntendedStatement = new PreparedStatement(finishIntendedSql(this.keys, this.phases));
    this.intendAndFinishStatement = new PreparedStatement(
      intendAndFinishSql(this.keys, this.phases),
    );
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
   * Commits the intents of foreign calls, and ends those of other requests that
   * have nothing else to write; both renew leases. An earlier intent keeps its
   * effect key and its request, and, unless it is certain that nothing came of
   * it, the time from which the other system remembers the key. What is missing
   * from the result has lost its lease.
   */
  async record(
    intents: readonly Intent[],
    endings: readonly PhaseEnding[],
  ): Promise<RecordedPhases> {
    const statement =
      endings.length === 0
        ? this.intendStatement
        : intents.length === 0
          ? this.finishIntendedStatement
          : this.intendAndFinishStatement;
    const rows = await this.database.query<RecordedRow>(statement, [
      ...(intents.length > 0 ? intentParameters(intents) : []),
      ...(endings.length > 0 ? endingParameters(endings) : []),
    ]);
    const recorded: RecordedPhases = { intended: new Map(), finished: new Set() };
    for (const { owner, startedAt, ended } of rows) {
      if (ended) recorded.finished.add(owner);
      else recorded.intended.set(owner, { startedAt });
    }
    return recorded;
  }

  /**
   * Ends a phase inside the transaction of its work, so that both commit or
   * neither does. False: the lease is lost, and the transaction must roll back.
   */
  async finish(tx: EntityManager, ending: PhaseEnding): Promise<boolean> {
    const rows = await this.database.queryIn(
      tx.queryRunner!,
      this.finishStatement,
      parametersFor('one', [...endingParameters([ending]), [ending.kind], [ending.position]]),
    );
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
}

interface RecordedRow {
  owner: string;
  startedAt: Date;
  ended: boolean;
}

/** SQL's NULL is the one way to store `undefined`. */
interface PhaseRow extends Omit<PhaseRecord, 'request' | 'result'> {
  request: string | null;
  result: string | null;
}

/** In the order of ATTEMPT, INTENT and ENDING in phase-statements.ts. */
function attemptParameters(phases: readonly { attempt: Attempt; name: string }[]): unknown[][] {
  return [
    phases.map(({ attempt }) => attempt.id),
    phases.map(({ attempt }) => attempt.owner),
    phases.map(({ attempt }) => attempt.lease),
    phases.map(({ attempt }) => attempt.operation?.name ?? null),
    phases.map(({ attempt }) => attempt.operation?.input ?? null),
    phases.map(({ name }) => name),
    phases.map(({ attempt }) => attempt.number),
  ];
}

function intentParameters(intents: readonly Intent[]): unknown[][] {
  return [
    ...attemptParameters(intents),
    intents.map((i) => i.position),
    intents.map((i) => i.effectKey),
    intents.map((i) => i.inDoubt),
    intents.map((i) => i.keyValidFor),
    intents.map((i) => i.request ?? null),
  ];
}

function endingParameters(endings: readonly PhaseEnding[]): unknown[][] {
  return [
    ...attemptParameters(endings),
    endings.map((e) => e.state),
    endings.map((e) => e.result ?? null),
  ];
}
