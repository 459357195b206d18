import { parseDuration, type Duration } from '../policy/duration.js';
import { KEY_STATUSES, type KeyStatus } from '../schema/key-status.js';
import type { KeyQuery } from './key-report.js';

const DEFAULT_LIMIT = 50;
const MOST_KEYS = 1_000;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A checked query; null is for "any". */
export interface KeySearch {
  statuses: readonly KeyStatus[] | null;
  scope: string | null;
  key: string | null;
  effectKey: string | null;
  ids: readonly string[] | null;
  route: string | null;
  held: boolean | null;
  /** Milliseconds. */
  olderThan: number | null;
  youngerThan: number | null;
  after: string;
  limit: number;
  walk: number;
}

export function isId(id: unknown): id is string {
  return typeof id === 'string' && /^\d{1,18}$/.test(id);
}

export function isEffectKey(effectKey: unknown): effectKey is string {
  return typeof effectKey === 'string' && UUID.test(effectKey);
}

/** Throws a TypeError that names the invalid member. */
export function searchOf(query: KeyQuery): KeySearch {
  const { status, scope, key, effectKey, id, route, olderThan, youngerThan, after, limit } = query;
  return {
    statuses: status === undefined ? null : statusesOf(status),
    scope: scope ?? null,
    key: key ?? null,
    effectKey:
      effectKey === undefined ? null : checked('effectKey', effectKey, isEffectKey, 'a UUID'),
    ids: id === undefined ? null : idsOf(id),
    route: route ?? null,
    held: query.held ?? null,
    olderThan: olderThan === undefined ? null : ageOf('olderThan', olderThan),
    youngerThan: youngerThan === undefined ? null : ageOf('youngerThan', youngerThan),
    after: after === undefined ? '0' : checked('after', after, isId, 'the `next` of a page'),
    limit: Math.min(
      MOST_KEYS,
      limit === undefined
        ? DEFAULT_LIMIT
        : checked('limit', limit, isCount, 'a whole number from 1'),
    ),
    walk:
      query.walk === undefined
        ? Infinity
        : checked('walk', query.walk, isCount, 'a whole number from 1'),
  };
}

function statusesOf(status: KeyStatus | readonly KeyStatus[]): readonly KeyStatus[] {
  const statuses = typeof status === 'string' ? [status] : status;
  const isStatus = (each: KeyStatus) => KEY_STATUSES.includes(each);
  return statuses.map((each) =>
    checked('status', each, isStatus, `one of ${KEY_STATUSES.join(', ')}`),
  );
}

function idsOf(id: string | readonly string[]): readonly string[] {
  const ids = typeof id === 'string' ? [id] : id;
  return ids.map((each) => checked('id', each, isId, 'the id of a key'));
}

function ageOf(member: string, duration: Duration): number {
  const age = parseDuration(duration);
  if (age !== undefined) return age;
  throw mistake(member, duration, `milliseconds or text such as '1h'`);
}

function isCount(limit: number): boolean {
  return Number.isSafeInteger(limit) && limit >= 1;
}

function checked<T>(member: string, value: T, fits: (value: T) => boolean, use: string): T {
  if (fits(value)) return value;
  throw mistake(member, value, use);
}

function mistake(member: string, value: unknown, use: string): TypeError {
  return new TypeError(`${member} is ${JSON.stringify(value)}. Use ${use}.`);
}
