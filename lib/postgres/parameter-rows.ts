import { NOTHING_SHARED, type Shared } from './batch-statement.js';

/** A statement for one row takes plain values, which saves the database a third of the work. */
export type Rows = 'one' | 'many';

/**
 * The input of a statement, with the names and types of its parameters in order:
 * one row of plain parameters, or a table made of one array per column that its
 * rows do not share.
 */
export class GivenRows<Column extends string> {
  private readonly names: Column[];

  /**
   * @param alias of the table
   * @param after how many parameters precede it
   * @param shared the columns of many rows that are one plain parameter
   */
  constructor(
    private readonly rows: Rows,
    private readonly types: Readonly<Record<Column, string>>,
    private readonly alias: string,
    private readonly after = 0,
    private readonly shared: Shared = NOTHING_SHARED,
  ) {
    this.names = Object.keys(types) as Column[];
  }

  /** A value, in SQL. For one row it is the parameter itself, so that the planner knows the key. */
  of(name: Column): string {
    return this.isPlain(name) ? this.parameter(name) : `${this.alias}.${name}`;
  }

  /** A text as JSON. A plain parameter is read as such once, and not for each row. */
  asJson(name: Column, type: 'json' | 'jsonb'): string {
    return this.isPlain(name)
      ? `$${this.positionOf(name)}::${type}`
      : `${this.alias}.${name}::${type}`;
  }

  /** What is computed from columns, in SQL: once for all rows if they share those columns. */
  computed(expression: string, ...from: Column[]): string {
    const once = this.rows === 'many' && from.every((name) => this.isPlain(name));
    return once ? `(SELECT ${expression})` : expression;
  }

  /**
   * The table, for a FROM clause; none for one row.
   *
   * PostgreSQL cannot know how many rows the arrays of a prepared statement will
   * have. It guesses ten, and for ten rows it prefers to scan a small table, and
   * keeps that plan while the table grows. With a LIMIT that it does not know
   * either, it expects one row, and uses the index from the start.
   */
  get tables(): string[] {
    if (this.rows === 'one') return [];
    const names = this.names.filter((name) => !this.isPlain(name));
    const arrays = names.map((name) => this.parameter(name));
    return [
      `(SELECT * FROM unnest(${arrays.join()}) LIMIT cardinality(${arrays[0]})) AS ${this.alias} (${names.join()})`,
    ];
  }

  private parameter(name: Column): string {
    return `$${this.positionOf(name)}::${this.types[name]}${this.isPlain(name) ? '' : '[]'}`;
  }

  private positionOf(name: Column): number {
    return this.after + this.names.indexOf(name) + 1;
  }

  private isPlain(name: Column): boolean {
    return this.rows === 'one' || this.shared.has(name);
  }
}

/** Parameters for many rows, one array for each column, as those of `rows`. */
export function parametersFor(rows: Rows, columns: readonly unknown[][]): unknown[] {
  return rows === 'many' ? [...columns] : columns.map(([value]) => value);
}
