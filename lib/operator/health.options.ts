import { inspect } from 'node:util';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { parseDuration, type Duration } from '../policy/duration.js';
import { refuseUnknownNames, type Names } from '../policy/unknown-names.js';
import { MOST_COUNTED } from './health-store.js';

/** The status of a degraded result. */
export type DegradedAs = 'up' | 'degraded' | 'down';

/** When the health check is degraded. `false` turns a check off. */
export interface HealthOptions<As extends DegradedAs = DegradedAs> {
  /**
   * The status of a degraded result. Every version of `@nestjs/terminus`
   * understands `'up'`; the result then has `degraded: true`. Use `'degraded'`
   * with terminus 12; terminus 11 would silently drop such a result. `'down'`
   * makes the health check fail. @default 'up'
   */
  degradedAs?: As;
  /** This many failures in a row of one job, in any live process. @default 3 */
  jobFailures?: number | false;
  /** This many unknown outcomes that are left to people. @default 1 */
  unknown?: number | false;
  /** A message of the outbox has been due for this long. @default '5m' */
  outboxLag?: Duration | false;
  /**
   * A key has been past its retention for this long, and the reaper has not
   * removed it. @default '1h'
   */
  expiredBacklog?: Duration | false;
  /** How old the figures may be: probes within this time share one read. @default '5s' */
  maxAge?: Duration;
}

export const HEALTH_NAMES = {
  degradedAs: true,
  jobFailures: true,
  unknown: true,
  outboxLag: true,
  expiredBacklog: true,
  maxAge: true,
} satisfies Names<HealthOptions>;

/** The options as numbers. A check that is off has a threshold that is never reached. */
export interface HealthThresholds {
  degradedAs: DegradedAs;
  jobFailures: number;
  unknown: number;
  outboxLag: number;
  expiredBacklog: number;
  maxAge: number;
}

const WHERE = 'IdempotencyHealthIndicator.check()';

export function resolveHealth(options: HealthOptions): HealthThresholds {
  refuseUnknownNames(WHERE, options, HEALTH_NAMES);
  const {
    degradedAs = 'up',
    // Two failures can be one restart of the database; the third comes after a longer pause.
    jobFailures = 3,
    // Behind each is a client that waits, and perhaps a payment.
    unknown = 1,
    // The worker looks for messages every 5 s at the latest; a message that waits for minutes is
    // stuck.
    outboxLag = '5m',
    // Sixty runs of the reaper.
    expiredBacklog = '1h',
    maxAge = '5s',
  } = options;
  if (!['up', 'degraded', 'down'].includes(degradedAs)) {
    throw refused('degradedAs', degradedAs, "'up', 'degraded' or 'down'");
  }
  return {
    degradedAs,
    jobFailures: count('jobFailures', jobFailures, Number.MAX_SAFE_INTEGER),
    unknown: count('unknown', unknown, MOST_COUNTED),
    outboxLag: time('outboxLag', outboxLag),
    expiredBacklog: time('expiredBacklog', expiredBacklog),
    maxAge: time('maxAge', maxAge),
  };
}

function count(name: string, value: number | false, most: number): number {
  if (value === false) return Infinity;
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw refused(name, value, `a whole number from 1 to ${most}, or false`);
}

function time(name: string, value: Duration | false): number {
  if (value === false && name !== 'maxAge') return Infinity;
  const parsed = parseDuration(value as Duration);
  if (parsed !== undefined) return parsed;
  throw refused(name, value, "a time such as '5m'");
}

function refused(name: string, value: unknown, use: string): IdempotencyConfigurationError {
  return new IdempotencyConfigurationError(
    `${WHERE}: ${name} is ${inspect(value, { depth: 1 })}. Use ${use}.`,
  );
}
