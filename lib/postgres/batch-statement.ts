import { binaryArray } from './binary-array.js';
import { PreparedStatement } from './prepared-statement.js';

/** What all rows of a batch have in common, by the names of the columns. */
export type Shared = ReadonlySet<string>;

/** Nothing: each column is an array. */
export const NOTHING_SHARED: Shared = new Set();

/**
 * The columns of a batch. A column in which all rows have the same value is one
 * plain parameter: the server reads each value of an array from text and hands it
 * on, which is more than most columns are worth.
 *
 * Columns are shared in levels, each with the columns of the levels before it, so
 * that a statement has few forms that connections have to prepare.
 */
export class BatchColumns {
  private readonly names: readonly string[];
  /** From nothing to all that can be shared. */
  private readonly levels: readonly Shared[];
  /** The positions of the columns that each level adds. */
  private readonly added: readonly (readonly number[])[];

  /** @param added the columns that each level adds. Those that a join uses must stay arrays */
  constructor(
    private readonly types: Readonly<Record<string, string>>,
    ...added: readonly (readonly string[])[]
  ) {
    this.names = Object.keys(types);
    this.added = added.map((names) => names.map((name) => this.names.indexOf(name)));
    this.levels = [
      NOTHING_SHARED,
      ...added.map((_, index) => new Set(added.slice(0, index + 1).flat())),
    ];
  }

  /** @param columns the values of each column, in order */
  levelOf(columns: readonly (readonly unknown[])[]): number {
    const different = this.added.findIndex((positions) =>
      positions.some((position) => !isUniform(columns[position]!)),
    );
    return different < 0 ? this.added.length : different;
  }

  sharedAt(level: number): Shared {
    return this.levels[level]!;
  }

  parametersAt(level: number, columns: readonly (readonly unknown[])[]): unknown[] {
    const shared = this.sharedAt(level);
    return columns.map((values, position) => {
      const name = this.names[position]!;
      return shared.has(name) ? values[0] : binaryArray(this.types[name]!, values);
    });
  }
}

/** A statement for a batch of rows, in the form that suits them. */
export class BatchStatement {
  private readonly forms = new Map<string, PreparedStatement>();

  /**
   * @param parts the columns of its parameters, such as those of rows to insert and of rows to update
   * @param textOf gets what the rows of each part share
   */
  constructor(
    private readonly parts: readonly BatchColumns[],
    private readonly textOf: (...shared: Shared[]) => string,
  ) {}

  /**
   * The form for these rows, with its parameters.
   *
   * @param rows of each part, the values of each column
   */
  of(...rows: unknown[][][]): [PreparedStatement, unknown[]] {
    const levels = this.parts.map((part, index) => part.levelOf(rows[index]!));
    const parameters = this.parts.flatMap((part, index) =>
      part.parametersAt(levels[index]!, rows[index]!),
    );
    return [this.form(levels), parameters];
  }

  private form(levels: readonly number[]): PreparedStatement {
    const name = levels.join();
    const known = this.forms.get(name);
    if (known) return known;
    const shared = this.parts.map((part, index) => part.sharedAt(levels[index]!));
    const form = new PreparedStatement(this.textOf(...shared));
    this.forms.set(name, form);
    return form;
  }
}

function isUniform(values: readonly unknown[]): boolean {
  const [first] = values;
  return values.every((value) => value === first);
}
