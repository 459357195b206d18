import { Injectable } from '@nestjs/common';
import { Failed } from '../postgres/batcher.js';
import { Database } from '../postgres/database.js';
import { parametersFor, type Rows } from '../postgres/parameter-rows.js';
import { PreparedStatement } from '../postgres/prepared-statement.js';
import { withDates } from '../postgres/times.js';
import { nameColumns, nameParameters } from '../schema/key-name.js';
import {
  datedReserveParameters,
  finishParameters,
  foundKey,
  reserveParameters,
  type FoundRow,
} from './key-rows.js';
import type { KeyOutcome, RecordedOutcome } from './key-outcome.js';
import { lookUpOneSql, lookUpSql, recordedSql } from './key-statements.js';
import type { Reservation, ReserveResult } from './reservation.js';
import {
  finishingStatements,
  reservingStatements,
  type FinishingStatements,
  type ReservingStatements,
} from './statement-forms.js';

/**
 * Reserves keys, reads them and records outcomes: what every request needs, for
 * many requests at once.
 */
@Injectable()
export class KeyStore {
  private readonly keys: string;
  private readonly reserving: ReservingStatements;
  private readonly reservingUnflushed: ReservingStatements;
  private readonly finishing: FinishingStatements;
  private readonly finishingPhases: FinishingStatements;
  private readonly lookUpStatement: Record<Rows, PreparedStatement>;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    const { keys } = this;
    const { distributed } = database;
    this.reserving = reservingStatements(keys, distributed, false);
    // Not on several nodes, where it was not tried.
    this.reservingUnflushed = reservingStatements(keys, distributed, !distributed);
    this.finishing = finishingStatements(keys);
    this.finishingPhases = finishingStatements(keys, database.table('idempotency_phases'));
    this.lookUpStatement = {
      one: new PreparedStatement(lookUpOneSql(this.keys)),
      many: new PreparedStatement(lookUpSql(this.keys)),
    };
  }

  /** Reserves the keys that are free, and then reads the others. */
  async reserve(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    const mayBeLost = wanted.every((reservation) => reservation.mayBeLost);
    const { one, many } = mayBeLost ? this.reservingUnflushed : this.reserving;
    const [statement, parameters] =
      rowsFor(wanted) === 'one'
        ? [one, parametersFor('one', reserveParameters(wanted))]
        : many.of(datedReserveParameters(inOneOrder(wanted)));
    const rows = await this.database.for(wanted).query<ReservedRow>(statement, parameters);
    return this.reserved(wanted, rows);
  }

  /** Both at once, for different requests: one round trip, one transaction. */
  async reserveAndFinish(
    wanted: readonly Reservation[],
    outcomes: readonly KeyOutcome[],
  ): Promise<{ reserved: ReserveResult[]; recorded: Map<string, RecordedOutcome> | Failed }> {
    const { withReservations } = this.finishingFor(outcomes);
    const [statement, parameters] = withReservations.of(
      datedReserveParameters(inOneOrder(wanted)),
      finishParameters(outcomes),
    );
    const rows = await this.database
      .for(wanted, outcomes)
      .query<ReservedRow | FinishedRow>(statement, parameters, 'urgent');
    const isReserved = (row: ReservedRow | FinishedRow): row is ReservedRow => row.id !== null;
    const [reserved, recorded] = await Promise.all([
      this.reserved(wanted, rows.filter(isReserved)),
      // A retry will find out; the reservations must not be lost because of it.
      this.recorded(
        outcomes,
        rows.filter((row) => !isReserved(row)),
      ).catch((error: unknown) => new Failed(error)),
    ]);
    return { reserved, recorded };
  }

  private reserved(
    wanted: readonly Reservation[],
    rows: readonly ReservedRow[],
  ): ReserveResult[] | Promise<ReserveResult[]> {
    const ids = new Map(rows.map(({ owner, id }) => [owner, id]));
    const results = (found: ReserveResult[]) =>
      wanted.map<ReserveResult>(({ owner }) => {
        const id = ids.get(owner);
        return id === undefined ? found.shift()! : { kind: 'reserved', id };
      });
    const taken = wanted.filter(({ owner }) => !ids.has(owner));
    if (taken.length === 0) return results([]);
    return this.lookUp(taken).catch(unread(taken)).then(results);
  }

  /** Reads keys without locking or reserving them. */
  async lookUp(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    const count = rowsFor(wanted);
    const rows = await this.database
      .for(wanted)
      .query<FoundRow>(
        this.lookUpStatement[count],
        count === 'one' ? nameParameters(wanted[0]!) : lookUpParameters(wanted),
      );
    return wanted.map((name, index) => {
      const row = rows[index];
      if (!row || row.id === null) return { kind: row?.stale ? 'stale' : 'missed' };
      return { kind: 'found', key: foundKey(name, row) };
    });
  }

  /**
   * Records the outcomes of attempts. Returns those that are recorded, now or by
   * an earlier try whose reply was lost; any other attempt has lost its lease.
   * The result is by owner: two attempts of one key may end together, and one of
   * them has lost its lease.
   */
  async finish(outcomes: readonly KeyOutcome[]): Promise<Map<string, RecordedOutcome>> {
    const columns = finishParameters(outcomes);
    const { one, many } = this.finishingFor(outcomes);
    const [statement, parameters] =
      outcomes.length === 1
        ? [one, [...parametersFor('one', columns), outcomes[0]!.scope]]
        : many.of(columns);
    const rows = await this.database
      .for(outcomes)
      .query<FinishedRow>(statement, parameters, 'urgent');
    return this.recorded(outcomes, rows);
  }

  private finishingFor(outcomes: readonly KeyOutcome[]): FinishingStatements {
    return outcomes.some(({ lastPhase }) => lastPhase) ? this.finishingPhases : this.finishing;
  }

  private async recorded(
    outcomes: readonly KeyOutcome[],
    rows: readonly FinishedRow[],
  ): Promise<Map<string, RecordedOutcome>> {
    const recorded = new Map<string, RecordedOutcome>();
    const add = (row: FinishedRow) => recorded.set(row.owner, withDates(row, 'expiresAt'));
    rows.forEach(add);
    const missing = outcomes.filter(({ owner }) => !recorded.has(owner));
    const before = missing.length > 0 ? await this.recordedBefore(missing) : [];
    before.forEach(add);
    return recorded;
  }

  /** A separate statement, so that it sees what an earlier try has committed meanwhile. */
  private recordedBefore(outcomes: readonly KeyOutcome[]): Promise<FinishedRow[]> {
    const count = outcomes.length === 1 ? 'one' : 'many';
    const columns = [
      outcomes.map((e) => e.scope),
      outcomes.map((e) => e.id),
      outcomes.map((e) => e.owner),
      outcomes.map((e) => e.status),
      outcomes.map((e) => e.responseStatus),
      outcomes.map((e) => e.responseBody),
    ];
    return this.database
      .for(outcomes)
      .query<FinishedRow>(recordedSql(this.keys, count), parametersFor(count, columns));
  }
}

interface ReservedRow {
  id: string;
  owner: string;
}

interface FinishedRow extends RecordedOutcome {
  id?: null;
  owner: string;
}

function unread(wanted: readonly unknown[]): (error: unknown) => ReserveResult[] {
  return (error) => wanted.map(() => ({ kind: 'unread', error }));
}

/**
 * Every process inserts keys in this order, so that two of them cannot deadlock.
 * Any order would do that is the same everywhere; to sort is cheaper here than in
 * PostgreSQL. By the key first, because it differs nearly always.
 */
function inOneOrder(wanted: readonly Reservation[]): readonly Reservation[] {
  return wanted.length === 1
    ? wanted
    : wanted.toSorted(
        (a, b) =>
          compare(a.key, b.key) || compare(a.scope, b.scope) || compare(a.endpoint, b.endpoint),
      );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A key that may be refused as stale needs the statement for many rows. */
function rowsFor(wanted: readonly Reservation[]): Rows {
  return wanted.length === 1 && wanted[0]!.madeAt === undefined ? 'one' : 'many';
}

function lookUpParameters(wanted: readonly Reservation[]): unknown[] {
  return [
    ...nameColumns(wanted),
    wanted.map((w) => w.retention),
    wanted.map((w) => w.madeAt ?? null),
  ];
}
