/** A statement for one row takes plain values: the database then has a third less to do. */
export type Rows = 'one' | 'many';

/** Names and types of what a statement is given, in the order of its parameters. */
export type GivenColumns = Readonly<Record<string, string>>;

/**
 * The parameters of a statement as a table: of plain values, or of arrays.
 *
 * PostgreSQL cannot know how many rows the arrays of a prepared statement will
 * have. It guesses ten, and with ten to look up it would rather read all of a
 * small table, and go on doing so while the table grows. Behind a LIMIT that it
 * does not know either, it counts on one row, and uses the index from the start.
 *
 * @param after how many parameters come before
 */
export function givenRows(rows: Rows, columns: GivenColumns, alias: string, after = 0): string {
  const names = Object.keys(columns);
  const list = rows === 'many' ? '[]' : '';
  const values = names.map((name, index) => `$${after + index + 1}::${columns[name]}${list}`);
  const given =
    rows === 'many'
      ? `SELECT * FROM unnest(${values.join()}) LIMIT cardinality(${values[0]})`
      : `VALUES (${values.join()})`;
  return `(${given}) AS ${alias} (${names.join()})`;
}

/** Parameters for many rows, one array for each column, as those of `rows`. */
export function parametersFor(rows: Rows, columns: readonly unknown[][]): unknown[] {
  return rows === 'many' ? [...columns] : columns.map(([value]) => value);
}
