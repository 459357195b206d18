import { Logger } from '@nestjs/common';
import { publish } from '../telemetry/publish.js';
import { databaseWords } from './database-words.js';
import { StoreUnavailableError } from './store-unavailable.error.js';

/** When the breaker opens. */
export interface BreakerSettings {
  /** This many failures in a row, … */
  failures: number;
  /** … of which the first statement was sent this long ago, in milliseconds. */
  after: number;
  /**
   * A probe without a reply for this long was sent on a connection that is dead: another one may
   * try, or an outage would last until each dead connection of the pool has timed out in turn.
   */
  probePatience: number;
}

/**
 * A database that is back answers a probe within this time. Requests that come beside the probe
 * wait for it, or the first burst after an outage would be refused.
 */
const PROBE_GRACE = 250;

/** Stands in front of the database, for those who need not ask it while it is down. */
export interface StoreBreaker {
  /** Requests are refused at once. */
  readonly isOpen: boolean;
  /** Runs `work`, or throws StoreUnavailableError at once. */
  guard<T>(work: () => Promise<T>): Promise<T>;
  /** The database answered, with rows or with an error of its own. */
  answered(): void;
  /** A statement found no connection, lost it, or got no reply. @param since when it was begun, by performance.now() */
  failed(since: number, error: unknown): void;
}

/** The plain implementation: every request asks the database. */
export const NO_BREAKER: StoreBreaker = {
  isOpen: false,
  guard: (work) => work(),
  answered: () => undefined,
  failed: () => undefined,
};

/**
 * A circuit breaker: while the database is down, requests are refused at once instead of
 * queueing for it. All statements report how they ended, and only those that begin
 * something ask to be let through. An outcome that is known has to be recorded,
 * however often that fails: otherwise a finished operation would become an unknown one.
 *
 * While it is open, the next request is let through as a probe, one at a time. No pause
 * is kept between probes, so the first request after an outage ends it.
 */
export class CircuitBreaker implements StoreBreaker {
  private readonly logger = new Logger('IdempotencyModule');
  private failures = 0;
  /** When the first of them was begun, or the last answer came. */
  private failingSince = 0;
  private answeredAt = 0;
  private openedAt: number | undefined;
  /** `result` resolves when it is over, and after the grace at the latest. */
  private probe: { since: number; result: Promise<void> } | undefined;

  constructor(private readonly settings: BreakerSettings) {}

  get isOpen(): boolean {
    return this.openedAt !== undefined;
  }

  guard<T>(work: () => Promise<T>): Promise<T> {
    return this.openedAt === undefined ? work() : this.tryOne(work);
  }

  private async tryOne<T>(work: () => Promise<T>): Promise<T> {
    const now = performance.now();
    if (this.probe && now - this.probe.since < this.settings.probePatience) {
      await this.probe.result;
      if (!this.isOpen) return work();
      throw new StoreUnavailableError(
        `The database has not answered for ${seconds(now - this.failingSince)} s, so it was not asked.`,
      );
    }
    let over = (): void => undefined;
    const result = new Promise<void>((resolve) => (over = resolve));
    const probe = (this.probe = { since: now, result });
    const timer = setTimeout(over, PROBE_GRACE).unref();
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      over();
      if (this.probe === probe) this.probe = undefined;
    }
  }

  answered(): void {
    this.answeredAt = performance.now();
    if (this.failures === 0) return;
    this.failures = 0;
    if (this.openedAt === undefined) return;
    const duration = this.answeredAt - this.openedAt;
    this.openedAt = undefined;
    publish('breaker_closed', () => ({ duration }));
    this.logger.log(
      `The database answers again, and so requests with a key are served again. They were refused for ${seconds(duration)} s.`,
    );
  }

  failed(since: number, error: unknown): void {
    const now = performance.now();
    if (this.failures === 0) this.failingSince = Math.max(since, this.answeredAt);
    this.failures += 1;
    const { failures, after } = this.settings;
    const failingFor = now - this.failingSince;
    if (this.openedAt !== undefined || this.failures < failures || failingFor < after) return;
    this.openedAt = now;
    publish('breaker_opened', () => ({ failures: this.failures, failingFor }));
    this.logger.error(
      `The database has failed ${this.failures} times in a row, for ${seconds(failingFor)} s. ` +
        'Requests with a key are refused with 503 at once until it answers; one at a time is let through to find out. ' +
        `The last failure: ${databaseWords(error)}`,
    );
  }
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1000);
}
