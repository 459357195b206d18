import { inspect } from 'node:util';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { refuseUnknownNames } from '../policy/unknown-names.js';
import { LIMIT_NAMES, type Limits, type LimitsOption } from './limits.options.js';

/** What one look at the index may read: about a tenth of a second. */
export const MOST_KEYS = 1_000_000;

/** Limits of a scope, checked. Infinity where none holds. */
export interface ResolvedLimits {
  /** Milliseconds between two new keys at the allowed rate; 0 where none is set. */
  interval: number;
  burst: number;
  outstanding: number;
  waiting: number;
  storedKeys: number;
  storedBytes: number;
}

/** A function stays one; what it returns is checked when it does. */
export function resolveLimitsOption(
  where: string,
  option: LimitsOption | undefined,
): ResolvedLimits | ((scope: string) => unknown) | undefined {
  if (option === undefined || typeof option === 'function') return option;
  return resolveLimits(where, option);
}

/** Throws IdempotencyConfigurationError. @param given from the options, or from a function */
export function resolveLimits(where: string, given: unknown): ResolvedLimits {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new IdempotencyConfigurationError(
      `${where}: limits is ${inspect(given, { depth: 0 })}. Use an object such as { newKeysPerSecond: 60, burst: 300 }, or {} for no limits.`,
    );
  }
  refuseUnknownNames(where, given, LIMIT_NAMES, 'limits.');
  const limits = given as Limits;
  const { newKeysPerSecond: rate, burst } = limits;
  if (rate !== undefined && !(typeof rate === 'number' && rate > 0 && rate <= MOST_KEYS)) {
    throw refused(where, 'newKeysPerSecond', rate, `a number above 0 and up to ${MOST_KEYS}`);
  }
  if (burst !== undefined && rate === undefined) {
    throw new IdempotencyConfigurationError(
      `${where}: limits.burst has no effect without limits.newKeysPerSecond, which says how fast it fills up again. Set both.`,
    );
  }
  const whole = (name: keyof Limits, least = 1, most = MOST_KEYS): number => {
    const value = limits[name];
    if (value === undefined) return Infinity;
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw refused(where, name, value, `a whole number from ${least} to ${most}`);
  };
  return {
    interval: rate === undefined ? 0 : 1_000 / rate,
    burst: burst === undefined ? Math.ceil(rate ?? 1) : whole('burst'),
    outstanding: whole('outstanding'),
    waiting: whole('waiting', 0),
    storedKeys: whole('storedKeys'),
    storedBytes: whole('storedBytes', 1, Number.MAX_SAFE_INTEGER),
  };
}

function refused(where: string, name: string, value: unknown, use: string): Error {
  return new IdempotencyConfigurationError(
    `${where}: limits.${name} is ${inspect(value, { depth: 0 })}. Use ${use}, or leave it out for no such limit.`,
  );
}
