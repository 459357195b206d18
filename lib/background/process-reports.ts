import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Logger } from '@nestjs/common';
import { BurstLog } from '../telemetry/burst-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { outside } from '../telemetry/outside.js';
import type { JobStatus } from './job.js';
import type { Maintenance } from './maintenance.js';
import type { ProcessStore, ReportedProcess } from './process-store.js';
import { VERSION } from './version.js';

/** The least time between two reports, give or take half of it: an operator sees a failing job this soon. */
const INTERVAL = 15_000;

/** A process that has nothing new to say reports itself all the same, to show that it lives. */
const HEARTBEAT = 60_000;

/** A job, and the process that runs it. */
export interface ReportedJob extends JobStatus {
  process: ReportedProcess & {
    /** The process that was asked: what it says of itself is of this moment. */
    own: boolean;
  };
}

/**
 * Each process reports itself in a table, so that whichever of them an operator
 * asks can show all of them. A report costs one statement a minute, and at most
 * one every seven seconds while jobs begin or cease to fail. Nothing depends on
 * it: a report that fails is logged, and the next one is tried later.
 */
export class ProcessReports {
  private readonly id = randomUUID();
  private readonly startedAt = new Date(performance.timeOrigin);
  private readonly log = new BurstLog((line) => new Logger('IdempotencyMaintenance').warn(line));
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<void> | undefined;
  private stopped = true;
  /** What the last report said, and when, by performance.now(). */
  private said: { text: string; at: number } | undefined;

  constructor(
    private readonly store: ProcessStore,
    private readonly maintenance: Maintenance,
  ) {}

  /** The first report leaves after an interval: a process that ends before it is of no interest. */
  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.schedule();
  }

  /** For shutdown: whoever ends properly leaves no row. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.current;
    if (!this.said) return;
    this.said = undefined;
    await this.store.remove(this.id).catch((error: unknown) => this.failed(error));
  }

  /** Reports this process if it has something new to say, or has said nothing for a minute. */
  async report(): Promise<void> {
    const text = newsOf(this.maintenance.status);
    const now = performance.now();
    if (this.said?.text === text && now - this.said.at < HEARTBEAT) return;
    try {
      await this.store.report({
        ...this.own,
        uptime: Date.now() - this.startedAt.getTime(),
        jobs: this.maintenance.status,
      });
      this.said = { text, at: now };
    } catch (error) {
      this.failed(error);
    }
  }

  /** The jobs of all processes. Those of this one are as they are now, also before its first report. */
  async jobs(): Promise<ReportedJob[]> {
    const others = (await this.store.list()).filter(({ id }) => id !== this.id);
    const own = { ...this.own, startedAt: this.startedAt, reportedAt: new Date(), gone: false };
    return [
      ...this.maintenance.status.map((job) => ({ ...job, process: { ...own, own: true } })),
      ...others.flatMap(({ jobs, ...process }) =>
        jobs.map((job) => ({ ...job, process: { ...process, own: false } })),
      ),
    ];
  }

  private get own() {
    return { id: this.id, host: hostname(), pid: process.pid, version: VERSION };
  }

  private schedule(): void {
    this.timer = setTimeout(
      () => {
        this.current = outside(() => this.report());
        void this.current.then(() => {
          if (!this.stopped) this.schedule();
        });
      },
      // Processes that started together drift apart.
      INTERVAL * (0.5 + Math.random()),
    ).unref();
  }

  private failed(error: unknown): void {
    this.log.note(
      'report',
      () =>
        `This process could not report its jobs, so that other processes show old ones: ${errorLine(error)}`,
    );
  }
}

/** What is worth a report at once. Counts and times change with every look of every job. */
function newsOf(jobs: readonly JobStatus[]): string {
  return JSON.stringify(
    jobs.map(({ name, running, failures, lastError }) => [name, running, failures, lastError]),
  );
}
