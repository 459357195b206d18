/** A statement for one row takes plain values: the database then has a third less to do. */
export type Rows = 'one' | 'many';

/** Names and types of what a statement is given, in the order of its parameters. */
export type GivenColumns = Readonly<Record<string, string>>;

/**
 * The parameters of a statement as a table: of plain values, or of arrays.
 *
 * @param after how many parameters come before
 */
export function givenRows(rows: Rows, columns: GivenColumns, alias: string, after = 0): string {
  const names = Object.keys(columns);
  const list = rows === 'many' ? '[]' : '';
  const values = names.map((name, index) => `$${after + index + 1}::${columns[name]}${list}`);
  const given = rows === 'many' ? `unnest(${values.join()})` : `(VALUES (${values.join()}))`;
  return `${given} AS ${alias} (${names.join()})`;
}

/** Parameters for many rows, one array for each column, as those of `rows`. */
export function parametersFor(rows: Rows, columns: readonly unknown[][]): unknown[] {
  return rows === 'many' ? [...columns] : columns.map(([value]) => value);
}
