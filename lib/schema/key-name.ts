/** What names a key's row: its primary key. `scope` comes first, so that tables can be distributed by it. */
export interface KeyName {
  scope: string;
  endpoint: string;
  key: string;
}

/** As one string, for a Map. None of the three can contain a NUL. */
export function nameOf({ scope, endpoint, key }: KeyName): string {
  return `${scope}\0${endpoint}\0${key}`;
}

/** The columns of the name, in SQL. */
export const NAME = 'scope, endpoint, key';

/** In SQL: two rows belong to the same key. */
export function sameKey(row: string, other: string): string {
  return `${row}.scope = ${other}.scope AND ${row}.endpoint = ${other}.endpoint AND ${row}.key = ${other}.key`;
}

/** In SQL: the phase belongs to the key. By the id, which no other key will ever have. */
export function isPhaseOf(key: string, phase = 'p'): string {
  return `${phase}.scope = ${key}.scope AND ${phase}.key_id = ${key}.id`;
}

/**
 * In SQL: the row belongs to the key that three parameters name.
 *
 * @param first the number of the first parameter
 */
export function isKey(row: string, first = 1): string {
  return `${row}.scope = $${first} AND ${row}.endpoint = $${first + 1} AND ${row}.key = $${first + 2}`;
}

/** Those parameters. */
export function nameParameters({ scope, endpoint, key }: KeyName): [string, string, string] {
  return [scope, endpoint, key];
}

/** The names of several keys, one array for each column. */
export function nameColumns(names: readonly KeyName[]): [string[], string[], string[]] {
  return [
    names.map(({ scope }) => scope),
    names.map(({ endpoint }) => endpoint),
    names.map(({ key }) => key),
  ];
}
