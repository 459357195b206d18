import { Injectable } from '@nestjs/common';
import { PHASE } from '../encryption/columns.js';
import type { Attempt } from '../keys/attempt.js';
import { LeaseLostError } from '../policy/phase-errors.js';
import { BatchStatement } from '../postgres/batch-statement.js';
import { Database } from '../postgres/database.js';
import { foundDuplicate, foundNoRow } from '../postgres/database-errors.js';
import { parametersFor } from '../postgres/parameter-rows.js';
import { PreparedStatement } from '../postgres/prepared-statement.js';
import type { LastStatement } from '../postgres/transactions.js';
import type { UnrecordedOutcome } from './phase-journal.js';
import { withDates } from '../postgres/times.js';
import type { InDoubt, PhaseKind, PhaseState } from '../schema/phase-record.js';
import type { OutcomeOnItsWay } from './outcome-on-its-way.js';
import {
  ENTRIES,
  ENTRIES_AFTER,
  localEndSql,
  performedSql,
  recordSql,
} from './phase-statements.js';
import { withoutValues } from './without-values.js';

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
  /** Its handler goes on meanwhile, perhaps to the next phase. */
  onItsWay?: OutcomeOnItsWay | undefined;
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
 * key's row by id, owner and status, and if there is none, nothing is written.
 */
@Injectable()
export class PhaseStore {
  private readonly phases: string;
  private readonly keys: string;
  private readonly recordOne: PreparedStatement;
  private readonly recordMany: BatchStatement;
  private readonly recordOneAfter: PreparedStatement;
  private readonly recordManyAfter: BatchStatement;
  private readonly lastStatementOfWork: PreparedStatement;
  private readonly endOfLocal: PreparedStatement;

  constructor(private readonly database: Database) {
    this.phases = database.table('idempotency_phases');
    this.keys = database.table('idempotency_keys');
    const { keys, phases } = this;
    const { distributed } = database;
    this.recordOne = new PreparedStatement(recordSql(keys, phases, 'one', { distributed }));
    this.recordMany = new BatchStatement([ENTRIES], (shared) =>
      recordSql(keys, phases, 'many', { shared }),
    );
    this.recordOneAfter = new PreparedStatement(recordSql(keys, phases, 'one', { after: true }));
    this.recordManyAfter = new BatchStatement([ENTRIES_AFTER], (shared) =>
      recordSql(keys, phases, 'many', { shared, after: true }),
    );
    this.lastStatementOfWork = new PreparedStatement(
      recordSql(keys, phases, 'one', { inTransaction: true, distributed }),
    );
    this.endOfLocal = new PreparedStatement(localEndSql(keys, phases));
  }

  /**
   * Commits entries of different requests together and renews their leases. One
   * result for each, in order; undefined where the lease is lost. The result of an
   * outcome that another intent has joined is that of the intent.
   */
  async record(entries: readonly PhaseEntry[]): Promise<(RecordedEntry | undefined)[]> {
    const [statement, parameters] = this.statementFor(entries);
    const rows = await this.database
      .for(entries.map(({ attempt }) => attempt))
      .query<RecordedRow>(statement, parameters, 'urgent');
    const recorded = new Map(rows.map((row) => [row.keyId, row]));
    // Of two attempts of one key, one has lost its lease.
    return entries.map(({ attempt }) => {
      const row = recorded.get(attempt.id);
      if (row?.attempt !== attempt.number) return undefined;
      const { startedAt } = withDates(row, 'startedAt');
      return { startedAt };
    });
  }

  private statementFor(entries: readonly PhaseEntry[]): [PreparedStatement, unknown[]] {
    const isAfter = entries.some(hasNext);
    const columns = isAfter ? entriesAfter(entries) : entryParameters(entries);
    if (entries.length > 1) return (isAfter ? this.recordManyAfter : this.recordMany).of(columns);
    const parameters = [...parametersFor('one', columns), entries[0]!.attempt.scope];
    return [isAfter ? this.recordOneAfter : this.recordOne, parameters];
  }

  /**
   * The statement that ends a phase inside the transaction of its work, so that
   * both commit or neither does. It fails if the lease is lost.
   */
  lastStatement(ending: EndedPhase): LastStatement {
    const { attempt, kind, state } = ending;
    const isLocalEnd = kind === 'local' && state === 'finished';
    const isPlain = isLocalEnd && !attempt.operation && !this.database.distributed;
    return {
      scope: attempt.scope,
      statement: isPlain ? this.endOfLocal : this.lastStatementOfWork,
      parameters: isPlain ? localEndParameters(ending) : oneEntry(ending),
      // A duplicate is the phase's own row: an earlier run of it has been committed after all.
      failure: (error) =>
        foundNoRow(error) || foundDuplicate(error)
          ? new LeaseLostError(ending.name)
          : withoutValues(error),
    };
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
    const name = `operation:${attempt.operation?.name}`;
    const rows = await this.database
      .for(attempt)
      .query(performedSql(this.keys, this.phases, this.database.distributed), [
        attempt.scope,
        attempt.id,
        attempt.owner,
        outcome.state,
        attempt.number,
        resultOf(attempt, name, outcome.result),
        unrecorded?.name ?? null,
        unrecorded?.state ?? null,
        unrecorded ? resultOf(attempt, unrecorded.name, unrecorded.result) : null,
        name,
      ]);
    return rows.length === 1;
  }

  /**
   * The outcome that this attempt recorded for a phase, if it did. Called after a
   * lost connection: the lock waits for a transaction that may still be
   * committing.
   */
  async endOf(attempt: Attempt, name: string): Promise<{ result: string | undefined } | undefined> {
    await this.database
      .for(attempt)
      .query(`SELECT FROM ${this.keys} WHERE scope = $1 AND id = $2 FOR NO KEY UPDATE`, [
        attempt.scope,
        attempt.id,
      ]);
    const [row] = await this.database.for(attempt).query<{ result: string | null }>(
      `SELECT result::text AS "result" FROM ${this.phases}
       WHERE scope = $1 AND key_id = $2 AND name = $3 AND attempt = $4 AND state NOT IN ('intended', 'reconciled')`,
      [attempt.scope, attempt.id, name, attempt.number],
    );
    const phase = { keyId: attempt.id, name };
    return row && { result: attempt.cipher.openJson(row.result, PHASE.result, phase) };
  }
}

interface RecordedRow extends RecordedEntry {
  keyId: string;
  attempt: number;
}

/** In the order of ENTRY in phase-statements.ts. */
function entryParameters(entries: readonly PhaseEntry[]): unknown[][] {
  return [
    entries.map(({ attempt }) => attempt.id),
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
    entries.map((entry) => (entry.state === 'intended' ? null : storedResult(entry))),
  ];
}

/** The result of a phase as it is stored. */
export function storedResult({ attempt, name, result }: EndedPhase): string | null {
  return resultOf(attempt, name, result);
}

function hasNext(entry: PhaseEntry): entry is EndedPhase {
  return entry.state !== 'intended' && entry.onItsWay?.next !== undefined;
}

/** In the order of ENTRY_AFTER there: of two entries of one request, the intent, and before it the outcome. */
function entriesAfter(entries: readonly PhaseEntry[]): unknown[][] {
  return [
    ...entryParameters(entries.map((entry) => (hasNext(entry) ? entry.onItsWay!.next! : entry))),
    entries.map((entry) => (hasNext(entry) ? entry.name : null)),
    entries.map((entry) => (hasNext(entry) ? storedResult(entry) : null)),
  ];
}

/** With the scope. */
function oneEntry(entry: PhaseEntry): unknown[] {
  return [...parametersFor('one', entryParameters([entry])), entry.attempt.scope];
}

/** In the order of LOCAL_END there. */
function localEndParameters(ended: EndedPhase): unknown[] {
  const { attempt, name, position } = ended;
  const { scope, id, owner, lease, number } = attempt;
  return [scope, id, owner, lease, name, position, number, storedResult(ended)];
}

function requestOf({ attempt, name, request }: Intent): string | null {
  return attempt.cipher.json(request, PHASE.request, { keyId: attempt.id, name });
}

function resultOf(attempt: Attempt, name: string, result: string | undefined): string | null {
  return attempt.cipher.json(result, PHASE.result, { keyId: attempt.id, name });
}
