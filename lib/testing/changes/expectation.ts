import type { Counts, Change } from './effect-watch.js';
import type { RowChange } from './row-changes.js';

/** How a run differs from an undisturbed one. */
export interface Deviation {
  /** What it is about, such as `observe().mails` or `table "orders"`. */
  what: string;
  kind: 'more' | 'less' | 'other';
  message: string;
}

/**
 * What an undisturbed run changes, learnt from two of them: columns in which the
 * two differ (ids, times, whatever comes from the run's own data) are not compared.
 */
export class Expectation {
  readonly counts: Counts;
  private readonly rows: string[];
  private readonly volatile: ReadonlySet<string>;

  constructor(
    private readonly unit: string,
    one: Change,
    two: Change,
  ) {
    this.volatile = volatileColumns(one.rows, two.rows);
    this.counts = one.counts;
    this.rows = this.describe(one.rows);
  }

  get changesNothing(): boolean {
    return this.rows.length === 0 && Object.values(this.counts).every((count) => count === 0);
  }

  deviations({ counts, rows }: Change): Deviation[] {
    return [...this.countDeviations(counts), ...this.rowDeviations(rows)];
  }

  private countDeviations(counts: Counts): Deviation[] {
    const names = new Set([...Object.keys(this.counts), ...Object.keys(counts)]);
    return [...names].flatMap((name) => {
      const [expected, actual] = [this.counts[name] ?? 0, counts[name] ?? 0];
      if (expected === actual) return [];
      const what = `observe().${name}`;
      const kind = Math.abs(actual) > Math.abs(expected) ? 'more' : 'less';
      const message = `${what} changed by ${actual}, and by ${expected} with ${this.unit}.`;
      return [{ what, kind, message } as const];
    });
  }

  private rowDeviations(rows: readonly RowChange[]): Deviation[] {
    const actual = this.describe(rows);
    const extra = without(actual, this.rows);
    const missing = without(this.rows, actual);
    const tables = new Set([...extra, ...missing].map(tableOf));
    return [...tables].map((table) => {
      const came = extra.filter((line) => tableOf(line) === table);
      const went = missing.filter((line) => tableOf(line) === table);
      const kind = kindOf(came, went);
      const happened = came.length > 0 ? came.map(changeOf).join(', ') : 'nothing';
      const instead =
        went.length > 0 ? `, where ${this.unit} has ${went.map(changeOf).join(', ')}` : '';
      const beyond = went.length > 0 ? '' : ` beyond what ${this.unit} does`;
      const message = `Table ${table}: ${happened}${beyond}${instead}.`;
      return { what: `table ${table}`, kind, message };
    });
  }

  /** One line for each row, which is the same for the same change. */
  private describe(rows: readonly RowChange[]): string[] {
    return rows.flatMap(({ table, kind, values }) => {
      const compared = Object.entries(values).filter(
        ([column]) => !this.volatile.has(`${table}.${column}`),
      );
      // A row in which only such columns have changed has not changed.
      if (kind === 'updated' && compared.length === 0) return [];
      return `${table}\t${kind} ${JSON.stringify(Object.fromEntries(compared))}`;
    });
  }
}

/** More of the same is more, also where a number has moved further than it should. */
function kindOf(came: readonly string[], went: readonly string[]): Deviation['kind'] {
  if (went.length === 0) return 'more';
  if (came.length === 0) return 'less';
  const [actual, expected] = [came, went].map((lines) => steps(lines.map(changeOf)));
  if (!actual || !expected || actual.shape !== expected.shape) return 'other';
  return actual.size > expected.size ? 'more' : 'less';
}

/** Changes in which numbers alone have moved: by how much, and what is the same whatever they moved by. */
function steps(changes: readonly string[]): { size: number; shape: string } | undefined {
  const text = changes.toSorted().join();
  const numbers = [...text.matchAll(/"([+-][\d.e+]+)"/g)].map(([, number]) => Number(number));
  if (numbers.length === 0) return undefined;
  const size = numbers.reduce((sum, number) => sum + Math.abs(number), 0);
  return { size, shape: text.replace(/"[+-][\d.e+]+"/g, '#') };
}

function tableOf(line: string): string {
  return line.slice(0, line.indexOf('\t'));
}

function changeOf(line: string): string {
  return line.slice(line.indexOf('\t') + 1);
}

/** What is in the first list more often than in the second one. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const index = left.indexOf(line);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function volatileColumns(one: readonly RowChange[], two: readonly RowChange[]): Set<string> {
  const [first, second] = [valuesByColumn(one), valuesByColumn(two)];
  const columns = new Set([...first.keys(), ...second.keys()]);
  return new Set([...columns].filter((column) => first.get(column) !== second.get(column)));
}

function valuesByColumn(changes: readonly RowChange[]): Map<string, string> {
  const values = new Map<string, string[]>();
  for (const { table, kind, values: row } of changes) {
    for (const [column, value] of Object.entries(row)) {
      const name = `${table}.${column}`;
      values.set(name, [...(values.get(name) ?? []), `${kind} ${JSON.stringify(value)}`]);
    }
  }
  return new Map([...values].map(([name, list]) => [name, list.toSorted().join('\n')]));
}
