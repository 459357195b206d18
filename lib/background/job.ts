import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import { outside } from '../telemetry/outside.js';
import { publish } from '../telemetry/publish.js';
import { endedSpan } from '../telemetry/tracing.js';

/** The pause of a failing job grows, up to this one. */
const LONGEST_PAUSE = 5 * 60_000;

/** The pause between two full batches, so that a large backlog does not slow down requests. */
const PAUSE_IN_BACKLOG = 50;

/** A timer of Node with a longer delay than this fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What a job is made of. */
export interface Work {
  /**
   * Handles one batch, or begins to, and returns its number of rows.
   *
   * @param asked somebody asked for this run, so it is not left to another process
   */
  run(batch: number, asked?: boolean): Promise<number>;
  /** Resolves when everything that `run` began without waiting has ended. */
  settled?(): Promise<void>;
  /** For shutdown: nothing new begins, and what is under way ends within about this time. */
  close?(timeout: number): Promise<void>;
}

export interface JobPace {
  /** The pause after a run that found work, plus or minus half of it. */
  interval: number;
  /** While runs find nothing, the pause doubles up to this one. @default interval */
  maxInterval?: number;
  batch: number;
}

/** What a job is doing, for operators. */
export interface JobStatus {
  name: string;
  running: boolean;
  /** Rows handled since this process started. */
  handled: number;
  /** Runs since this process started. */
  runs: number;
  lastRunAt: Date | undefined;
  /** About when it runs next; undefined while it runs, and if it is off. */
  nextRunAt: Date | undefined;
  /** Failures since the last success. */
  failures: number;
  lastError: string | undefined;
}

/**
 * Recurring work: a batch at a time, with pauses in between. Every process runs
 * every job; the statements ensure that two processes never handle the same row,
 * and jitter keeps them from running at the same time.
 */
export class Job {
  private readonly logger = new Logger('IdempotencyMaintenance');
  private timer: NodeJS.Timeout | undefined;
  /** A run is already due: further wake-ups must not postpone it. */
  private imminent = false;
  private idlePause: number;
  private readonly work: Work;
  private current: Promise<unknown> | undefined;
  private stopped = true;
  private wanted = false;
  private readonly state: Omit<JobStatus, 'name' | 'running'> = {
    handled: 0,
    runs: 0,
    lastRunAt: undefined,
    nextRunAt: undefined,
    failures: 0,
    lastError: undefined,
  };

  /** @param work a function if a batch has ended when it returns */
  constructor(
    readonly name: string,
    private readonly pace: JobPace,
    work: Work | Work['run'],
  ) {
    this.work = typeof work === 'function' ? { run: work } : work;
    this.idlePause = pace.interval;
  }

  get status(): JobStatus {
    return { name: this.name, running: !this.stopped, ...this.state };
  }

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.schedule(this.pace.interval);
  }

  /** Waits for the current batch; work that it left running has this much time. */
  async stop(timeout = 0): Promise<void> {
    this.stopped = true;
    this.state.nextRunAt = undefined;
    clearTimeout(this.timer);
    await Promise.all([this.current, this.work.close?.(timeout)]);
  }

  /** There is work: run without waiting for the interval. */
  wake(): void {
    if (this.stopped) return;
    if (this.current) this.wanted = true;
    else if (!this.imminent) this.schedule(0);
  }

  /** Runs one batch now, and waits for its end. */
  async runOnce(): Promise<number> {
    const handled = await outside(() => this.look(true));
    await this.work.settled?.();
    return handled;
  }

  private async look(asked = false): Promise<number> {
    const { name } = this;
    const startedAt = performance.now();
    const duration = () => performance.now() - startedAt;
    const lastRunAt = (this.state.lastRunAt = new Date());
    const describe = (rows: number) => () => ({
      name: `job ${name}`,
      attributes: { 'idempotency.job': name, 'idempotency.rows': rows },
      startedAt: lastRunAt.getTime(),
      detached: true,
    });
    this.state.runs += 1;
    try {
      const handled = await this.work.run(this.pace.batch, asked);
      // Most runs find nothing: a span for each would flood a tracing backend.
      if (handled > 0) endedSpan(describe(handled));
      publish('job_ran', () => ({ job: name, rows: handled, duration: duration() }));
      this.state.handled += handled;
      this.state.failures = 0;
      this.state.lastError = undefined;
      return handled;
    } catch (error) {
      endedSpan(describe(0), error);
      const lastError = errorLine(error);
      const failures = (this.state.failures += 1);
      this.state.lastError = lastError;
      publish('job_failed', () => ({
        job: name,
        failures,
        duration: duration(),
        error: lastError,
      }));
      throw error;
    }
  }

  private schedule(pause: number): void {
    clearTimeout(this.timer);
    // Between 0.5 and 1.5 times the pause, so that processes that started together drift apart.
    const delay = Math.min(LONGEST_TIMER, pause * (0.5 + Math.random()));
    this.imminent = pause === 0;
    this.state.nextRunAt = new Date(Date.now() + delay);
    this.timer = setTimeout(() => {
      this.imminent = false;
      this.state.nextRunAt = undefined;
      // A job that a request has woken must not run in that request's context.
      outside(() => {
        this.current = this.tick();
      });
    }, delay).unref();
  }

  private async tick(): Promise<void> {
    const { interval, maxInterval = interval, batch } = this.pace;
    let pause: number;
    try {
      this.wanted = false;
      const handled = await this.look();
      this.idlePause =
        handled > 0 || this.wanted ? interval : Math.min(maxInterval, 2 * this.idlePause);
      pause = this.wanted ? 0 : handled >= batch ? PAUSE_IN_BACKLOG : this.idlePause;
    } catch {
      pause = Math.min(LONGEST_PAUSE, interval * 2 ** this.state.failures);
      this.logger.error(
        `The ${this.name} failed ${this.state.failures} time(s) in a row and is tried again in about ${Math.round(pause / 1000)} s: ${this.state.lastError}`,
      );
    }
    // Without an await in between: a wake-up between the two would be lost.
    this.current = undefined;
    if (!this.stopped) this.schedule(pause);
  }
}
