import { Logger } from '@nestjs/common';
import type { IdempotentRoute } from './idempotency.routes.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';

/** What large APIs promise their clients at least. */
const USUAL_RETRIES = 86_400_000;

/** Enough to see what is wrong. */
const MOST_SHOWN = 10;

/**
 * A key that is forgotten while its client may still retry runs twice. Routes with
 * `hygiene: 'refuse'` then stop the boot; others leave a line in the log.
 *
 * @param clientRetries for how long clients retry, if the application says so: then it counts on
 *   every route, otherwise where `hygiene` is on
 */
export function checkRetention(
  routes: readonly IdempotentRoute[],
  clientRetries: number | undefined,
): void {
  const retries = clientRetries ?? USUAL_RETRIES;
  const short = routes.filter(
    ({ policy: { retention, hygiene } }) =>
      retention !== null &&
      retention < retries &&
      (clientRetries !== undefined || hygiene !== 'off'),
  );
  if (short.length === 0) return;
  const message =
    `retention is shorter than clients retry (${hours(retries)}${clientRetries === undefined ? ', as is usual' : ', by clientRetries'}), so a late retry would take effect again:\n` +
    `${listOf(short)}\n` +
    'Lengthen retention, or say with clientRetries for how long your clients really retry.';
  if (short.some(({ policy }) => policy.hygiene === 'refuse')) {
    throw new IdempotencyConfigurationError(`hygiene: ${message}`);
  }
  new Logger('IdempotencyModule').warn(`Hygiene: ${message}`);
}

function listOf(short: readonly IdempotentRoute[]): string {
  const lines = short
    .slice(0, MOST_SHOWN)
    .map(({ name, policy }) => `  ${name}: ${hours(policy.retention!)}`);
  const more = short.length - lines.length;
  return [...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
}

function hours(milliseconds: number): string {
  const whole = milliseconds / 3_600_000;
  return whole >= 1 ? `${Number(whole.toFixed(1))} h` : `${milliseconds / 1000} s`;
}
