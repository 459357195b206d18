import type { KitAnswer } from './crash-safety.js';

/** Two runs make two orders with two ids, so only the form of their answers can be compared. */
export function sameShape(one: KitAnswer, other: KitAnswer): boolean {
  if (one.status !== other.status || one.contentType !== other.contentType) return false;
  return shapeOf(one) === shapeOf(other);
}

function shapeOf({ body, contentType }: KitAnswer): string {
  if (!contentType?.includes('json')) return '';
  try {
    return JSON.stringify(shape(JSON.parse(body.toString())));
  } catch {
    return 'not JSON';
  }
}

function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, shape(member)]);
}
