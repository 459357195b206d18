import { IdempotencyProblem } from '../answers/problems.js';
import { LONGEST_KEY } from './key-header.js';

/** A key that a route takes from elsewhere than the header. Undefined where there is none. */
export function givenKey(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const key = isWhole(value) ? value.toString() : value;
  const fault = faultOf(key);
  if (fault === undefined) return key as string;
  throw givenKeyInvalid(fault);
}

export function givenKeyInvalid(fault: string): IdempotencyProblem {
  return new IdempotencyProblem(
    'key_invalid',
    `What this operation takes for its key cannot be used. ${fault}`,
  );
}

export function givenKeyMissing(): IdempotencyProblem {
  return new IdempotencyProblem(
    'key_missing',
    'This operation is idempotent and takes its key from the request itself, in which it is missing.',
  );
}

function isWhole(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

function faultOf(key: unknown): string | undefined {
  if (typeof key !== 'string') return 'It is neither a text nor a whole number.';
  if (key.length > LONGEST_KEY) {
    return `It has ${key.length} characters; at most ${LONGEST_KEY} are allowed.`;
  }
  // PostgreSQL has no text for either of them.
  if (key.includes('\0') || !key.isWellFormed()) {
    return 'It has a NUL character or half of a surrogate pair in it.';
  }
  return undefined;
}
