import { IdempotencyConfigurationError } from './configuration-error.js';

/**
 * The names of an options object. Types do not exist at run time, so each options
 * file lists its names again. The compiler checks that no list lacks a name or
 * has one too many.
 */
export type Names<T> = Record<keyof T, true>;

/**
 * Refuses options that do not exist: a misspelt one would be ignored silently.
 * @param where which options they are, at the beginning of the error
 * @param path the prefix of the name, such as `maintenance.`
 * @param elsewhere names that exist, but not here, and where they belong
 */
export function refuseUnknownNames(
  where: string,
  given: object | null | undefined,
  known: object,
  path = '',
  elsewhere: { names: object; place: string } = { names: {}, place: '' },
): void {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const cure = Object.hasOwn(elsewhere.names, name)
      ? `It belongs ${elsewhere.place}.`
      : suggestionFor(name, Object.keys(known));
    throw new IdempotencyConfigurationError(
      `${where}: there is no option ${path}${name} here, so it would have no effect. ${cure}`,
    );
  }
}

function suggestionFor(name: string, known: string[]): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: distanceBetween(name, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, candidate.length / 3))
    .sort((a, b) => a.distance - b.distance);
  return nearest ? `Did you mean ${nearest.candidate}?` : `The options are ${known.join(', ')}.`;
}

/** How many letters have to be added, removed or changed (Levenshtein); case does not count. */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of a.toLowerCase().split('').entries()) {
    const next = [index + 1];
    for (const [column, other] of b.toLowerCase().split('').entries()) {
      const changed = row[column]! + (letter === other ? 0 : 1);
      next.push(Math.min(changed, row[column + 1]! + 1, next[column]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
