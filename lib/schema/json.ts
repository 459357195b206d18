import { DEEPEST_JSON, isTooDeep } from './json-depth.js';
import { PhaseUsageError } from '../policy/phase-errors.js';

type Callable = (...args: never[]) => unknown;

/**
 * The type of a value after JSON: Dates become strings, functions and undefined
 * members disappear, and `never` stands for what is refused. A phase returns this
 * shape on the first run and on a resume, so that code cannot depend on the
 * difference.
 */
export type Jsonified<T> = 0 extends 1 & T
  ? T // any
  : T extends { toJSON(...args: never[]): infer J }
    ? Jsonified<J>
    : T extends string | number | boolean | null | undefined | void
      ? T
      : T extends Callable | symbol | bigint | JsonLosesAll
        ? never
        : T extends readonly unknown[]
          ? { [I in keyof T]: JsonifiedElement<T[I]> }
          : T extends object
            ? { [K in keyof T as JsonifiedName<K, T[K]>]: Jsonified<T[K]> }
            : unknown;

/** In a list, JSON writes null for a value that it would leave out of an object. */
type JsonifiedElement<T> = T extends undefined | Callable ? null : Jsonified<T>;

type JsonifiedName<K, T> = K extends symbol ? never : T extends Callable ? never : K;

/** JSON.stringify writes {} for it, so it is refused. */
type JsonLosesAll = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | PromiseLike<unknown>;

/**
 * Results are read on every resume and kept as long as the key. A phase should
 * return an id or a status of what it created, not all of it.
 */
const LARGEST = 1024 * 1024;

/** The value is nested too deeply: if it came from a client, that is the client's mistake. */
export class TooDeepError extends PhaseUsageError {
  constructor(what: string) {
    super(
      `${what} has more than ${DEEPEST_JSON} levels of lists and objects, which the database cannot read as JSON. ` +
        'Store flat data, such as the ids of what the phase created.',
    );
  }
}

/** The JSON text of a value, or undefined for undefined. Refuses a value that JSON would change. */
export function toJson(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  let text: string | undefined;
  try {
    text = isFaithful(value) ? JSON.stringify(value) : JSON.stringify(value, refuseUnfaithful);
  } catch (cause) {
    // The stack overflows before the levels can be counted.
    if (cause instanceof RangeError) throw new TooDeepError(what);
    throw new PhaseUsageError(
      `${what} cannot be stored as JSON (${cause instanceof Error ? cause.message : String(cause)}). ` +
        'Return plain data, such as the ids of what the phase created.',
      { cause },
    );
  }
  if (text === undefined) {
    throw new PhaseUsageError(
      `${what} is a ${typeof value}, which JSON cannot hold. Return plain data or nothing.`,
    );
  }
  if (Buffer.byteLength(text) > LARGEST) {
    throw new PhaseUsageError(
      `${what} has ${Buffer.byteLength(text)} bytes of JSON; at most ${LARGEST} are kept. ` +
        'Store the data in a table of your own and return its id.',
    );
  }
  if (isTooDeep(text)) throw new TooDeepError(what);
  return text;
}

export function fromJson(text: string | undefined): unknown {
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** How deep the quick look goes. */
const SHALLOW = 8;

/**
 * A quick look at what phases usually return. JSON.stringify is several times
 * slower if a function has to see each value, and for plain data it has nothing
 * to refuse.
 */
function isFaithful(value: unknown, depth = SHALLOW): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (depth === 0 || prototype !== Object.prototype || 'toJSON' in value) return false;
  const members = value as Record<string, unknown>;
  for (const name in members) if (!isFaithful(members[name], depth - 1)) return false;
  return true;
}

/** JSON.stringify writes null for NaN and {} for a Map: the loss would only show on a resume. */
function refuseUnfaithful(this: unknown, key: string, value: unknown): unknown {
  const at = key === '' ? 'it' : `member "${key}"`;
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`${at} is ${value}`);
  if (typeof value === 'symbol') throw new TypeError(`${at} is a symbol`);
  if (value instanceof Map || value instanceof Set || value instanceof Promise) {
    throw new TypeError(`${at} is a ${value.constructor.name}`);
  }
  return value;
}
