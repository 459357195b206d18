import type { Counts } from '../crash-safety.options.js';

/** As of now: a list may be the living one. */
export function numbersOf(counts: Counts): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, countOf(value)]));
}

/** How counts changed from one look to the next. */
export function changeOf(
  before: Record<string, number>,
  after: Record<string, number>,
): Record<string, number> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
  );
}

export function countOf(value: Counts[string] | undefined): number {
  if (value === undefined) return 0;
  return typeof value === 'number' ? value : value.length;
}
