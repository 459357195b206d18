import { isDeepStrictEqual } from 'node:util';
import type { Row, TableRows } from './tables-store.js';

/** What happened to one row between two looks. */
export interface RowChange {
  table: string;
  kind: 'inserted' | 'updated' | 'deleted';
  /** All columns of a row that came or went; of one that changed, those that did, numbers as differences. */
  values: Row;
}

/** What happened to the tables between two looks. Rows are told apart by their primary keys. */
export function changesBetween(
  before: readonly TableRows[],
  after: readonly TableRows[],
): RowChange[] {
  return after.flatMap(({ table, primaryKey, rows }) => {
    const earlier = before.find((each) => each.table === table)?.rows ?? [];
    return primaryKey.length > 0
      ? changesByKey(table, primaryKey, earlier, rows)
      : changesByContent(table, earlier, rows);
  });
}

function changesByKey(
  table: string,
  primaryKey: readonly string[],
  before: readonly Row[],
  after: readonly Row[],
): RowChange[] {
  const keyOf = (row: Row) => JSON.stringify(primaryKey.map((column) => row[column]));
  const old = new Map(before.map((row) => [keyOf(row), row]));
  const changes: RowChange[] = [];
  for (const row of after) {
    const earlier = old.get(keyOf(row));
    old.delete(keyOf(row));
    if (!earlier) changes.push({ table, kind: 'inserted', values: row });
    else if (!isDeepStrictEqual(earlier, row)) {
      changes.push({ table, kind: 'updated', values: difference(earlier, row) });
    }
  }
  for (const row of old.values()) changes.push({ table, kind: 'deleted', values: row });
  return changes;
}

/** Without a key, a changed row is one that went and one that came. */
function changesByContent(
  table: string,
  before: readonly Row[],
  after: readonly Row[],
): RowChange[] {
  const old = before.map((row) => JSON.stringify(row));
  const changes: RowChange[] = [];
  for (const row of after) {
    const index = old.indexOf(JSON.stringify(row));
    if (index >= 0) old.splice(index, 1);
    else changes.push({ table, kind: 'inserted', values: row });
  }
  for (const row of old) changes.push({ table, kind: 'deleted', values: JSON.parse(row) as Row });
  return changes;
}

/** A balance begins at another amount in each run: how far it moved is what can be compared. */
function difference(before: Row, after: Row): Row {
  const changed = Object.keys(after).filter(
    (column) => !isDeepStrictEqual(before[column], after[column]),
  );
  return Object.fromEntries(
    changed.map((column) => {
      const [from, to] = [before[column], after[column]];
      return [column, typeof from === 'number' && typeof to === 'number' ? signed(to - from) : to];
    }),
  );
}

function signed(number: number): string {
  // Without the tail that binary fractions leave.
  return `${number < 0 ? '' : '+'}${Number(number.toPrecision(12))}`;
}
