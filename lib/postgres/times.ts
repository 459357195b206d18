/**
 * A time as milliseconds since 1970, in SQL. As text it would depend on the
 * `datestyle` of the database or the role, and the driver reads only one of them.
 */
export function milliseconds(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}

/** Makes dates of the members of a row that a statement has selected as `milliseconds`. */
export function withDates<Row extends object>(row: Row, ...names: (keyof Row)[]): Row {
  for (const name of names) {
    const value = row[name] as number | null;
    if (value !== null) row[name] = new Date(value) as Row[keyof Row];
  }
  return row;
}
