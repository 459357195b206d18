import type { TableTally } from '../crash-safety.report.js';
import { OUTBOX, type ChangedRow, type WatchedTable } from './changes-store.js';
import { leavesOf } from './leaves.js';
import type { Statement } from './statements.js';

/** What one statement did to one row, without what is not to be compared. */
export interface Change {
  table: string;
  op: ChangedRow['op'];
  /** Of an update, what it changed. */
  leaves: Map<string, Set<string>>;
  /** The statement that made it, if it was sent by code of the request, in this process. */
  statement: Statement | undefined;
  row: ChangedRow;
}

/** Reads changes off what the triggers noted. */
export class ChangeReader {
  private readonly times: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(
    tables: readonly WatchedTable[],
    private readonly ignoredColumns: readonly string[],
  ) {
    this.times = new Map(tables.map(({ name, times }) => [name, new Set(times)]));
  }

  /** @param statements of the run, in the order in which they were sent */
  read(rows: readonly ChangedRow[], statements: readonly Statement[]): Change[] {
    const origin = attribution(statements);
    return rows.flatMap((row) => {
      const values = this.valuesOf(row);
      const statement = origin(row);
      // What the user has declared harmless may be missing or be there twice.
      if (!values || statement?.where === 'unprotected') return [];
      return [{ table: row.table, op: row.op, leaves: leavesOf(values), statement, row }];
    });
  }

  /** Undefined where nothing has changed but a time. */
  private valuesOf(row: ChangedRow): Record<string, unknown> | undefined {
    if (row.op === 'TRUNCATE') return {};
    const { old } = row;
    const now = row.new ?? old!;
    if (row.table === OUTBOX) {
      const { topic, payload, ordering_key } = now;
      return { topic, payload, ordering_key };
    }
    const times = this.times.get(row.table);
    const values: Record<string, unknown> = {};
    let changed = row.op !== 'UPDATE';
    for (const [column, value] of Object.entries(now)) {
      if (this.isIgnored(row.table, column)) continue;
      if (row.op === 'UPDATE' && JSON.stringify(old![column]) === JSON.stringify(value)) continue;
      if (times?.has(column)) {
        // A time that was missing is there now: that is more than another time.
        if (row.op === 'UPDATE' && (old![column] === null) === (value === null)) continue;
        values[column] = value === null ? null : 'a time';
      } else {
        values[column] = value;
      }
      changed = true;
    }
    return changed ? values : undefined;
  }

  private isIgnored(table: string, column: string): boolean {
    return (
      this.ignoredColumns.includes(column) || this.ignoredColumns.includes(`${table}.${column}`)
    );
  }
}

/** Which statement of this process made a change: the same text on the same connection, one after another. */
function attribution(statements: readonly Statement[]): (row: ChangedRow) => Statement | undefined {
  const left = new Map<string, Statement[]>();
  for (const statement of statements) {
    const id = `${statement.pid} ${statement.text}`;
    left.set(id, [...(left.get(id) ?? []), statement]);
  }
  const known = new Map<string, Statement | undefined>();
  return ({ pid, sent, query }) => {
    const execution = `${pid} ${sent} ${query}`;
    if (!known.has(execution)) {
      const candidates = left.get(`${pid} ${query}`) ?? [];
      // One that was rolled back left no rows; the last one of its text is as good as any.
      known.set(execution, candidates.length > 1 ? candidates.shift() : candidates[0]);
    }
    return known.get(execution);
  };
}

const MEMBER = {
  INSERT: 'inserted',
  UPDATE: 'updated',
  DELETE: 'deleted',
  TRUNCATE: 'deleted',
} as const;

export function tallyOf(changes: readonly Change[]): Record<string, TableTally> {
  const tallies: Record<string, TableTally> = {};
  for (const { table, op } of changes) {
    const tally = (tallies[table] ??= { inserted: 0, updated: 0, deleted: 0 });
    tally[MEMBER[op]] += 1;
  }
  return tallies;
}
