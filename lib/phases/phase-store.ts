import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { PHASE } from '../encryption/columns.js';
import type { Attempt } from '../keys/attempt.js';
import { Database } from '../postgres/database.js';
import { parametersFor, type Rows } from '../postgres/parameter-rows.js';
import { PreparedStatement } from '../postgres/prepared-statement.js';
import type { UnrecordedOutcome } from './phase-journal.js';
import { withDates } from '../postgres/times.js';
import {
  isKey,
  NAME,
  nameColumns,
  nameOf,
  nameParameters,
  type KeyName,
} from '../schema/key-name.js';
import type { InDoubt, PhaseKind, PhaseState } from '../schema/phase-record.js';
import { recordSql } from './phase-statements.js';

/** The position of an operation's outcome: after every phase. */
const LAST_POSITION = 2_147_483_647;

/** A foreign call about to be made. */
export interface Intent {
  attempt: Attempt;
  name: string;
  position: number;
  kind: 'foreign';
  state: 'intended';
  effectKey: string;
  inDoubt: InDoubt;
  keyValidFor: number | null;
  request: string | undefined;
}

/** How a phase ended. */
export interface EndedPhase {
  attempt: Attempt;
  name: string;
  position: number;
  kind: PhaseKind;
  state: Exclude<PhaseState, 'intended' | 'reconciled'>;
  result: string | undefined;
}

/** What a phase records: that a call is about to be made, or its outcome. */
export type PhaseEntry = Intent | EndedPhase;

/** The outcome of a resumable operation that a worker has completed. */
export interface OperationOutcome {
  state: 'finished' | 'rejected';
  /** JSON text. */
  result: string | undefined;
}

/** A recorded entry. */
export interface RecordedEntry {
  /** For an intent: when it was recorded, right before the call. */
  startedAt: Date | null;
}

/**
 * Every statement on `idempotency_phases`. Writes are fenced: they update the
 * key's row by name, owner and status, and if there is none, nothing is written.
 */
@Injectable()
export class PhaseStore {
  private readonly phases: string;
  private readonly keys: string;
  private readonly recordStatement: Record<Rows, PreparedStatement>;
  private readonly recordInStatement: PreparedStatement;

  constructor(private readonly database: Database) {
    this.phases = database.table('idempotency_phases');
    this.keys = database.table('idempotency_keys');
    this.recordStatement = {
      one: new PreparedStatement(recordSql(this.keys, this.phases, 'one')),
      many: new PreparedStatement(recordSql(this.keys, this.phases, 'many')),
    };
    this.recordInStatement = new PreparedStatement(recordSql(this.keys, this.phases, 'one', true));
  }

  /**
   * Commits entries of different requests together and renews their leases. One
   * result for each, in order; undefined where the lease is lost.
   */
  async record(entries: readonly PhaseEntry[]): Promise<(RecordedEntry | undefined)[]> {
    const count = entries.length === 1 ? 'one' : 'many';
    const rows = await this.database.query<RecordedRow>(
      this.recordStatement[count],
      parametersFor(count, entryParameters(entries)),
      'urgent',
    );
    const recorded = new Map(rows.map((row) => [nameOf(row), row]));
    // Of two attempts of one key, one has lost its lease.
    return entries.map(({ attempt }) => {
      const row = recorded.get(nameOf(attempt));
      if (row?.attempt !== attempt.number) return undefined;
      const { startedAt } = withDates(row, 'startedAt');
      return { startedAt };
    });
  }

  /**
   * Ends a phase inside the transaction of its work, so that both commit or
   * neither does. False: the lease is lost, and the transaction must roll back.
   */
  async recordIn(tx: EntityManager, ending: EndedPhase): Promise<boolean> {
    const rows = await this.database.queryIn(
      tx.queryRunner!,
      this.recordInStatement,
      parametersFor('one', entryParameters([ending])),
    );
    return rows.length === 1;
  }

  /**
   * Records the end of an operation that was completed without its client. The
   * key stays open: the client's retry renders and stores the answer, for which
   * it has a full retention.
   *
   * @param unrecorded the outcome of a phase that could not be recorded before
   */
  async finishOperation(
    attempt: Attempt,
    outcome: OperationOutcome,
    unrecorded: UnrecordedOutcome | undefined,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `WITH fence AS (
         UPDATE ${this.keys} k
         SET status = 'performed', last_error_code = NULL, resume_after = NULL, completed_at = now(),
             expires_at = now() + (expires_at - coalesce(completed_at, created_at))
         WHERE ${isKey('k')} AND owner = $4 AND status = 'in_progress'
         RETURNING ${NAME}, operation
       ), ended AS (
         UPDATE ${this.phases} p
         SET state = $9, result = $10::json, attempt = $6, finished_at = statement_timestamp()
         WHERE ${isKey('p')} AND p.name = $8 AND p.state = 'intended' AND EXISTS (SELECT FROM fence)
       )
       INSERT INTO ${this.phases} (${NAME}, name, position, kind, state, attempt, result, finished_at)
       SELECT ${NAME}, 'operation:' || operation, ${LAST_POSITION}, 'operation', $5, $6, $7::json,
              statement_timestamp()
       FROM fence
       RETURNING name`,
      [
        ...nameParameters(attempt),
        attempt.owner,
        outcome.state,
        attempt.number,
        resultOf(attempt, `operation:${attempt.operation?.name}`, outcome.result),
        unrecorded?.name ?? null,
        unrecorded?.state ?? null,
        unrecorded ? resultOf(attempt, unrecorded.name, unrecorded.result) : null,
      ],
    );
    return rows.length === 1;
  }

  /**
   * The outcome that this attempt recorded for a phase, if it did. Called after a
   * lost connection: the lock waits for a transaction that may still be
   * committing.
   */
  async endOf(attempt: Attempt, name: string): Promise<{ result: string | undefined } | undefined> {
    await this.database.query(
      `SELECT FROM ${this.keys} k WHERE ${isKey('k')} FOR NO KEY UPDATE`,
      nameParameters(attempt),
    );
    const [row] = await this.database.query<{ result: string | null }>(
      `SELECT result::text AS "result" FROM ${this.phases} p
       WHERE ${isKey('p')} AND name = $4 AND attempt = $5 AND state NOT IN ('intended', 'reconciled')`,
      [...nameParameters(attempt), name, attempt.number],
    );
    const phase = { keyId: attempt.id, name };
    return row && { result: attempt.cipher.openJson(row.result, PHASE.result, phase) };
  }
}

interface RecordedRow extends RecordedEntry, KeyName {
  attempt: number;
}

/** In the order of ENTRY in phase-statements.ts. */
function entryParameters(entries: readonly PhaseEntry[]): unknown[][] {
  return [
    ...nameColumns(entries.map(({ attempt }) => attempt)),
    entries.map(({ attempt }) => attempt.owner),
    entries.map(({ attempt }) => attempt.lease),
    entries.map(({ attempt }) => attempt.operation?.name ?? null),
    entries.map(({ attempt }) => attempt.operation?.input ?? null),
    entries.map(({ attempt }) => attempt.policy.maxRunTime),
    entries.map(({ name }) => name),
    entries.map(({ position }) => position),
    entries.map(({ kind }) => kind),
    entries.map(({ state }) => state),
    entries.map(({ attempt }) => attempt.number),
    entries.map((entry) => (entry.state === 'intended' ? entry.effectKey : null)),
    entries.map((entry) => (entry.state === 'intended' ? entry.inDoubt : null)),
    entries.map((entry) => (entry.state === 'intended' ? entry.keyValidFor : null)),
    entries.map((entry) => (entry.state === 'intended' ? requestOf(entry) : null)),
    entries.map((entry) =>
      entry.state === 'intended' ? null : resultOf(entry.attempt, entry.name, entry.result),
    ),
  ];
}

function requestOf({ attempt, name, request }: Intent): string | null {
  return attempt.cipher.json(request, PHASE.request, { keyId: attempt.id, name });
}

function resultOf(attempt: Attempt, name: string, result: string | undefined): string | null {
  return attempt.cipher.json(result, PHASE.result, { keyId: attempt.id, name });
}
