import { PhaseUsageError } from '../policy/phase-errors.js';
import { fromJson, toJson, TooDeepError } from '../schema/json.js';
import { errorFrom, errorMembers, type ErrorMembers } from './recorded-error.js';
import { objectTypeOf, prototypeOf } from './object-types.js';

/*
 * Fields are resolved from the recorded value, the first time and on each replay, so it
 * has to be the value that the resolver returned: scalars of @nestjs/graphql turn a date
 * that has become a text into null, unions tell their members by their classes, and
 * fields may be getters. JSON has no word for these, so they are marked by members that
 * begin with `$`; a member of the application's own that does so gets another `$`.
 */

interface Marks {
  $date: string | null;
  $bigint: string;
  $bytes: string;
  $error: ErrorMembers;
  /** An object that contains this one, so many levels up. */
  $up: number;
}

/**
 * The value with its marks, as plain data. Throws a TypeError for what cannot be kept,
 * and a RangeError for endless depth.
 */
export function withMarks(value: unknown): unknown {
  return marked(value, []);
}

/** Undefined for undefined. @param what names the value in errors */
export function toFaithfulJson(value: unknown, what: string): string | undefined {
  let plain: unknown;
  try {
    plain = withMarks(value);
  } catch (cause) {
    if (cause instanceof RangeError) throw new TooDeepError(what);
    throw new PhaseUsageError(
      `${what} cannot be kept for a replay: ${(cause as Error).message}. Return plain data, and await what is not there yet.`,
      { cause },
    );
  }
  return toJson(plain, what);
}

export function fromFaithfulJson(text: string | undefined): unknown {
  return restored(fromJson(text), []);
}

function marked(value: unknown, above: object[]): unknown {
  if (typeof value === 'bigint') return mark({ $bigint: String(value) });
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) {
    return mark({ $date: Number.isNaN(value.getTime()) ? null : value.toISOString() });
  }
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value;
    return mark({ $bytes: Buffer.from(buffer, byteOffset, byteLength).toString('base64') });
  }
  if (value instanceof Error) return mark({ $error: errorMembers(value) });
  if (value instanceof Map || value instanceof Set || value instanceof Promise) {
    throw new TypeError(`a ${value.constructor.name} is no plain data`);
  }

  const loop = above.indexOf(value);
  if (loop !== -1) return mark({ $up: above.length - loop });
  const type = objectTypeOf(value);
  // A field is never resolved from what toJSON() of an object type returns.
  if (type === undefined && 'toJSON' in value && typeof value.toJSON === 'function') {
    return marked((value.toJSON as () => unknown)(), above);
  }
  above.push(value);
  const plain = Array.isArray(value)
    ? value.map((each) => marked(each, above))
    : members(value, type, above);
  above.pop();
  return plain;
}

function members(value: object, type: string | undefined, above: object[]): object {
  const plain = type === undefined ? {} : { $type: type };
  for (const [name, member] of Object.entries(value)) {
    define(plain, name.startsWith('$') ? `$${name}` : name, marked(member, above));
  }
  return plain;
}

function mark(made: Partial<Marks>): Partial<Marks> {
  return made;
}

function restored(value: unknown, above: object[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    above.push(list);
    for (const each of value) list.push(restored(each, above));
    above.pop();
    return list;
  }
  const { $date, $bigint, $bytes, $error, $up } = value as Partial<Marks>;
  if ($date !== undefined) return new Date($date ?? NaN);
  if ($bigint !== undefined) return BigInt($bigint);
  if ($bytes !== undefined) return Buffer.from($bytes, 'base64');
  if ($error !== undefined) return errorFrom($error);
  if ($up !== undefined) return above[above.length - $up];

  const { $type, ...plain } = value as { $type?: string };
  const prototype = $type === undefined ? Object.prototype : prototypeOf($type);
  const object = Object.create(prototype) as object;
  above.push(object);
  for (const [name, member] of Object.entries(plain)) {
    define(object, name.startsWith('$') ? name.slice(1) : name, restored(member, above));
  }
  above.pop();
  return object;
}

/** Past setters, and for `__proto__` as for any other name. */
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
