import { isDeepStrictEqual } from 'node:util';
import type { ChangedRow, WatchedTable } from '../world/changes-store.js';

/** A row as JSON, with the names of its columns. */
type Row = Record<string, unknown>;

/** What became of one row in the end, whatever number of statements it took; or of a table at once. */
export interface RowChange {
  table: string;
  kind: 'inserted' | 'updated' | 'deleted' | 'truncated';
  /** All columns of a row that came or went; of one that changed, those that did, numbers as differences. */
  values: Row;
}

/** What is left of the changes of a run: a row that came and went again is none. */
export function netChanges(
  changed: readonly ChangedRow[],
  tables: readonly WatchedTable[],
): RowChange[] {
  return tables.flatMap(({ name: table, primaryKey }) => {
    const notes = changed.filter((row) => row.table === table);
    const truncation = notes.findLastIndex(({ op }) => op === 'TRUNCATE');
    const rows = notes.slice(truncation + 1);
    const changes = primaryKey.length > 0 ? changesByKey(rows, primaryKey) : changesByContent(rows);
    // Nobody knows which rows a truncation has taken; whatever was before it is gone.
    if (truncation >= 0) changes.unshift({ kind: 'truncated', values: {} });
    return changes.map((change) => ({ table, ...change }));
  });
}

type Outcome = Omit<RowChange, 'table'>;

function changesByKey(rows: readonly ChangedRow[], primaryKey: readonly string[]): Outcome[] {
  const keyOf = (row: Row) => JSON.stringify(primaryKey.map((column) => row[column]));
  const known = new Map<string, { before: Row | null; after: Row | null }>();
  const note = (key: string, before: Row | null, after: Row | null) => {
    known.set(key, { before: known.has(key) ? known.get(key)!.before : before, after });
  };
  for (const { old, new: now } of rows) {
    if (old) note(keyOf(old), old, null);
    if (now) note(keyOf(now), null, now);
  }
  return [...known.values()].flatMap(({ before, after }): Outcome[] => {
    if (before && after) {
      if (isDeepStrictEqual(before, after)) return [];
      return [{ kind: 'updated', values: difference(before, after) }];
    }
    if (after) return [{ kind: 'inserted', values: after }];
    return before ? [{ kind: 'deleted', values: before }] : [];
  });
}

/** Without a key, a changed row is one that went and one that came. */
function changesByContent(rows: readonly ChangedRow[]): Outcome[] {
  const came: Row[] = [];
  const went: Row[] = [];
  for (const { old, new: now } of rows) {
    if (old) move(old, came, went);
    if (now) move(now, went, came);
  }
  return [
    ...came.map((values) => ({ kind: 'inserted', values }) as const),
    ...went.map((values) => ({ kind: 'deleted', values }) as const),
  ];
}

/** Undoes what is noted of such a row, or notes it. */
function move(row: Row, undone: Row[], noted: Row[]): void {
  const index = undone.findIndex((each) => isDeepStrictEqual(each, row));
  if (index >= 0) undone.splice(index, 1);
  else noted.push(row);
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
