import type { Counts } from '../crash-safety.options.js';

/** How counts changed from one look to the next. */
export function changeOf(before: Counts, after: Counts): Record<string, number> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].map((name) => [name, countOf(after[name]) - countOf(before[name])]),
  );
}

export function countOf(value: Counts[string] | undefined): number {
  if (value === undefined) return 0;
  return typeof value === 'number' ? value : value.length;
}
