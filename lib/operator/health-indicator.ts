import { Logger } from '@nestjs/common';
import type { ProcessReports } from '../background/process-reports.js';
import { errorCode } from '../postgres/database-errors.js';
import type { StoreBreaker } from '../postgres/store-breaker.js';
import { BurstLog } from '../telemetry/burst-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { outside } from '../telemetry/outside.js';
import { MOST_COUNTED, type HealthStore, type StoreHealth } from './health-store.js';
import {
  resolveHealth,
  type DegradedAs,
  type HealthOptions,
  type HealthThresholds,
} from './health.options.js';

/** PostgreSQL's codes for a table, a column or a schema that does not exist. */
const MISSING = new Set(['42P01', '42703', '3F000']);

/** A result in the form of `@nestjs/terminus`: the status and further details. */
export interface IdempotencyHealth<Status extends DegradedAs = DegradedAs> {
  status: Status;
  /** Requests are served, but something needs attention: `reasons` says what. */
  degraded: boolean;
  /** Sentences without users' data, host names or messages of the database. */
  reasons: string[];
  /** Unknown outcomes that are left to people; counted up to 1,000. */
  unknown?: number;
  /** Seconds since the first message of the outbox has been due. */
  outboxLag?: number;
  /** Seconds since the reaper should have removed a key. */
  expiredBacklog?: number;
}

/** The result of a read: figures, or why there are none. */
type Found = { down: string } | (StoreHealth & { jobs: FailingJob[] });

interface FailingJob {
  name: string;
  failures: number;
  own: boolean;
}

/**
 * A health indicator for `@nestjs/terminus`, which it does not need to import.
 *
 * `down`: no request with a key can be served, because the database does not
 * answer, accepts no writes or lacks the tables. Degraded: requests are served,
 * but something needs attention: a job keeps failing, unknown outcomes are left
 * to people, the outbox lags, or expired keys accumulate.
 *
 * All probes within five seconds (`maxAge`) share one read of the database.
 */
export class IdempotencyHealthIndicator {
  private readonly log = new BurstLog((line) => new Logger('IdempotencyHealth').warn(line));
  private looking: Promise<Found> | undefined;
  private last: { found: Found; at: number } | undefined;

  constructor(
    private readonly store: HealthStore,
    private readonly processes: ProcessReports,
    private readonly breaker: StoreBreaker,
    /** The process writes nothing, so a standby will do. */
    private readonly readOnly = false,
  ) {}

  /**
   * @param key the name of this result among the others of the health check
   * @example health.check([() => idempotency.check()])
   */
  async check<Key extends string = 'idempotency', As extends DegradedAs = 'up'>(
    key: Key = 'idempotency' as Key,
    options: HealthOptions<As> = {},
  ): Promise<Record<Key, IdempotencyHealth<'up' | 'down' | As>>> {
    const thresholds = resolveHealth(options);
    const found = await this.look(thresholds.maxAge);
    const health = healthOf(found, thresholds) as IdempotencyHealth<'up' | 'down' | As>;
    return { [key]: health } as Record<Key, typeof health>;
  }

  /** Probes that come during a read wait for it; later ones use it until it is too old. */
  private async look(maxAge: number): Promise<Found> {
    if (this.last && performance.now() - this.last.at < maxAge) return this.last.found;
    this.looking ??= outside(() => this.ask()).finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async ask(): Promise<Found> {
    const at = performance.now();
    const found = await this.find();
    this.last = { found, at };
    return found;
  }

  private async find(): Promise<Found> {
    try {
      const read = () => Promise.all([this.store.look(), this.processes.jobs()]);
      // While requests are refused at once, so are probes; one at a time finds out whether that is over.
      const [store, jobs] = await this.breaker.guard(read);
      if (store.missing.length > 0) return { down: TABLES_MISSING };
      if (store.readOnly && !this.readOnly) return { down: 'The database accepts no writes.' };
      const failing = jobs
        .filter(({ failures, process }) => failures > 0 && !process.gone)
        .map(({ name, failures, process: { own } }) => ({ name, failures, own }));
      return { ...store, jobs: failing };
    } catch (error) {
      // The error goes to the log only: a health check is often public.
      this.log.note(
        'down',
        () => `The health check could not read the database: ${errorLine(error)}`,
      );
      const missing = MISSING.has(errorCode(error) ?? '');
      if (missing) return { down: TABLES_MISSING };
      return { down: this.breaker.isOpen ? REFUSED_AT_ONCE : 'The database did not answer.' };
    }
  }
}

const TABLES_MISSING = 'Tables of this module are missing: its migrations have not been run.';

const REFUSED_AT_ONCE =
  'The database has not answered for a while: requests with a key are refused at once.';

function healthOf(found: Found, thresholds: HealthThresholds): IdempotencyHealth {
  if ('down' in found) return { status: 'down', degraded: false, reasons: [found.down] };
  const reasons = reasonsOf(found, thresholds);
  return {
    status: reasons.length > 0 ? thresholds.degradedAs : 'up',
    degraded: reasons.length > 0,
    reasons,
    ...(found.unknown !== undefined && { unknown: found.unknown }),
    ...(found.outboxLag !== undefined && { outboxLag: seconds(found.outboxLag) }),
    ...(found.expiredFor !== undefined && { expiredBacklog: seconds(found.expiredFor) }),
  };
}

function reasonsOf(
  { jobs, unknown = 0, outboxLag = 0, expiredFor = 0 }: Exclude<Found, { down: string }>,
  thresholds: HealthThresholds,
): string[] {
  const reasons = jobs
    .filter(({ failures }) => failures >= thresholds.jobFailures)
    .map(
      ({ name, failures, own }) =>
        `The ${name} of ${own ? 'this' : 'another'} process has failed ${failures} times in a row.`,
    );
  if (unknown >= thresholds.unknown) {
    const atLeast = unknown >= MOST_COUNTED ? 'at least ' : '';
    reasons.push(`Unknown outcomes that are left to people: ${atLeast}${unknown}.`);
  }
  if (outboxLag >= thresholds.outboxLag && outboxLag > 0) {
    reasons.push(`A message of the outbox has been due for ${seconds(outboxLag)} s.`);
  }
  if (expiredFor >= thresholds.expiredBacklog && expiredFor > 0) {
    reasons.push(
      `A key has been past its retention for ${seconds(expiredFor)} s, and no reaper has removed it.`,
    );
  }
  return reasons;
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1000);
}
