/**
 * A time as milliseconds since 1970, in SQL. As text it would depend on the
 * `datestyle` of the database or the role, and the driver reads only one of them.
 * It is computed as a difference, which is immutable: distributed tables allow
 * only immutable functions in RETURNING.
 */
export function milliseconds(time: string): string {
  return `(extract(epoch FROM ${time} - timestamptz '1970-01-01Z') * 1000)::float8`;
}

/**
 * A time as text, in seconds since 1970 and exact to the microsecond, in SQL: to
 * name a state of a row in the next statement, by `isTime`.
 */
export function exactTime(time: string): string {
  return `extract(epoch FROM ${time} - timestamptz '1970-01-01Z')::text`;
}

/** In SQL: the time is the one that `exactTime` gave, in a parameter. */
export function isTime(time: string, parameter: number): string {
  return `${time} = to_timestamp($${parameter}::float8)`;
}

/**
 * A time plus an interval that is computed from columns, in SQL. As `+` it would
 * depend on the time zone, and distributed tables take no such function of a
 * column in an UPDATE.
 */
export function later(time: string, interval: string): string {
  return `to_timestamp((${milliseconds(time)} + extract(epoch FROM ${interval}) * 1000)::float8 / 1000)`;
}

/** The time of the transaction if the condition holds, otherwise null. Distributed tables allow no now() inside a CASE. */
export function nowIf(condition: string): string {
  return `now() + CASE WHEN ${condition} THEN interval '0' END`;
}

/** Converts members of a row that were selected as `milliseconds` to dates. */
export function withDates<Row extends object>(row: Row, ...names: (keyof Row)[]): Row {
  for (const name of names) {
    const value = row[name] as number | null;
    if (value !== null) row[name] = new Date(value) as Row[keyof Row];
  }
  return row;
}
