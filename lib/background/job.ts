import { AsyncResource } from 'node:async_hooks';
import { Logger } from '@nestjs/common';

/** A failing job is tried ever more rarely, but at least this often: the cause may be gone by then. */
const LONGEST_PAUSE = 5 * 60_000;

/** Between two full batches, so that a large backlog does not crowd out live requests. */
const PAUSE_IN_BACKLOG = 50;

/** What a job is doing, for operators. */
export interface JobStatus {
  name: string;
  running: boolean;
  /** Rows handled since this process started. */
  handled: number;
  lastRunAt: Date | undefined;
  /** Failures since the last success. */
  failures: number;
  lastError: string | undefined;
}

/**
 * Work that comes back: a batch at a time, with pauses in between. Every process
 * runs every job; the statements see to it that two never handle the same row,
 * and jitter that they do not all ask at once.
 */
export class Job {
  private readonly logger = new Logger('IdempotencyMaintenance');
  /** A job that a request has woken must not run in that request's context. */
  private readonly outside = new AsyncResource('IdempotencyJob');
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<unknown> | undefined;
  private stopped = true;
  private wanted = false;
  private readonly state: Omit<JobStatus, 'name' | 'running'> = {
    handled: 0,
    lastRunAt: undefined,
    failures: 0,
    lastError: undefined,
  };

  /** @param work handles one batch and returns how many rows that were */
  constructor(
    readonly name: string,
    private readonly options: { interval: number; batch: number },
    private readonly work: (batch: number) => Promise<number>,
  ) {}

  get status(): JobStatus {
    return { name: this.name, running: !this.stopped, ...this.state };
  }

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.schedule(this.options.interval);
  }

  /** Lets the batch at hand finish. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.current;
  }

  /** There is work now: do not wait for the interval. */
  wake(): void {
    if (this.stopped) return;
    if (this.current) this.wanted = true;
    else this.schedule(0);
  }

  /** One batch, now. */
  async runOnce(): Promise<number> {
    this.state.lastRunAt = new Date();
    const handled = await this.work(this.options.batch);
    this.state.handled += handled;
    this.state.failures = 0;
    this.state.lastError = undefined;
    return handled;
  }

  private schedule(pause: number): void {
    clearTimeout(this.timer);
    // Between half and one and a half of the pause: processes that started together drift apart.
    const delay = pause * (0.5 + Math.random());
    this.timer = setTimeout(() => {
      this.outside.runInAsyncScope(() => {
        this.current = this.tick().finally(() => (this.current = undefined));
      });
    }, delay).unref();
  }

  private async tick(): Promise<void> {
    let pause = this.options.interval;
    try {
      this.wanted = false;
      const handled = await this.runOnce();
      if (this.wanted) pause = 0;
      else if (handled >= this.options.batch) pause = PAUSE_IN_BACKLOG;
    } catch (error) {
      this.state.failures += 1;
      this.state.lastError = String(error);
      pause = Math.min(LONGEST_PAUSE, pause * 2 ** this.state.failures);
      this.logger.error(
        `The ${this.name} failed ${this.state.failures} time(s) in a row and is tried again in about ${Math.round(pause / 1000)} s: ${String(error)}`,
      );
    }
    if (!this.stopped) this.schedule(pause);
  }
}
