import { Logger, type ExecutionContext } from '@nestjs/common';
import { IdempotencyProblem } from '../answers/problems.js';
import type { ScopeOption } from '../policy/policy.js';

const logger = new Logger('IdempotencyModule');

/** What fits into an index entry together with the longest key and a long route. */
const LONGEST_SCOPE = 1_000;

const RETURN_A_SCOPE =
  'Return a stable, non-empty string or a whole number for the authenticated caller ' +
  "(interceptors run after guards, so what a guard put on the request is there), or use scope: 'global' if there is only one caller.";

/** Reads the scope of a request with the module's `scope` option. */
export class ScopeReader {
  constructor(private readonly option: ScopeOption) {}

  /** There is no scope without one. */
  get needsRequest(): boolean {
    return this.option !== 'global';
  }

  /**
   * @param own what the route says instead, if it does
   * @param cure what to do where no scope is found, for the log
   */
  read(
    request: unknown,
    context: ExecutionContext,
    own?: ScopeOption,
    cure?: string,
  ): string | Promise<string> {
    return readScope(own ?? this.option, request, context, cure);
  }
}

/**
 * The scope of a request. It is a separate column, never concatenated with the
 * key, so two scopes cannot collide.
 */
export function readScope(
  scope: ScopeOption,
  request: unknown,
  context: ExecutionContext,
  cure: string = RETURN_A_SCOPE,
): string | Promise<string> {
  if (scope === 'global') return '';
  const value: unknown = scope(request, context);
  return isThenable(value)
    ? Promise.resolve(value).then((resolved) => accept(resolved, context, cure))
    : accept(value, context, cure);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

function accept(returned: unknown, context: ExecutionContext, cure: string): string {
  return scopeOf(returned, (fault) => {
    logger.error(
      `The scope option returned ${fault} for ${context.getClass().name}.${context.getHandler().name}, so the request was refused: ` +
        `without a scope one caller could receive the answer of another. ${cure}`,
    );
    throw scopeMissing();
  });
}

export function scopeMissing(): IdempotencyProblem {
  return new IdempotencyProblem(
    'scope_missing',
    'The server could not tell whose Idempotency-Key this is, so it did not process the request.',
  );
}

/** A value as a scope. @param refuse gets why it cannot be one */
export function scopeOf(returned: unknown, refuse: (fault: string) => never): string {
  const value = isNumericId(returned) ? String(returned) : returned;
  const fault = faultOf(value);
  return fault === undefined ? (value as string) : refuse(fault);
}

/**
 * Ids of users are often numbers. Their decimal text is the scope, so 7, 7n and
 * '7' are one caller. Beyond 2^53 two ids can be the same number, and a fraction
 * is not an id.
 */
function isNumericId(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

/**
 * Why a value cannot be a scope. The value itself is not shown: somebody who
 * returns a whole user by mistake would find it in the logs.
 */
function faultOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'number') return 'a number that is not a safe integer';
  if (typeof value !== 'string') return `a value of type ${typeof value}`;
  if (value === '') return 'an empty string';
  if (value.includes('\0')) return 'a string with a NUL character';
  // UTF-8 cannot encode them: all would be stored as the same replacement character.
  if (/\p{Surrogate}/u.test(value)) return 'a string with half of a surrogate pair';
  const bytes = Buffer.byteLength(value);
  if (bytes > LONGEST_SCOPE) {
    return `a string of ${bytes} bytes, where at most ${LONGEST_SCOPE} are allowed,`;
  }
  return undefined;
}
