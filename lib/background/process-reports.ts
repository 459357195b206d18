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

/**
 * The shortest time between two reports, plus or minus half of it: an operator
 * sees a failing job this soon.
 */
const INTERVAL = 15_000;

/** A process without news reports this often, to show that it is alive. */
const HEARTBEAT = 60_000;

/** A job, and the process that runs it. */
export interface ReportedJob extends JobStatus {
  process: ReportedProcess & {
    /** True for the process that was asked: its values are current. */
    own: boolean;
  };
}

/**
 * Each process reports itself in a table, so that any process can show the jobs
 * of all. Reports cost one statement a minute, and at most one every seven
 * seconds while jobs begin or stop failing. Nothing depends on them: a report
 * that fails is logged, and the next one follows later.
 */
export class ProcessReports {
  private readonly id = randomUUID();
  private readonly startedAt = new Date(performance.timeOrigin);
  private readonly log = new BurstLog((line) => new Logger('IdempotencyMaintenance').warn(line));
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<void> | undefined;
  private stopped = true;
  /** What the last report contained, and when it was sent, by performance.now(). */
  private said: { text: string; at: number } | undefined;

  constructor(
    private readonly store: ProcessStore,
    private readonly maintenance: Maintenance,
  ) {}

  /** The first report is sent after an interval: a process that ends earlier does not matter. */
  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.schedule();
  }

  /** For shutdown: a process that ends properly removes its row. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.current;
    if (!this.said) return;
    this.said = undefined;
    await this.store.remove(this.id).catch((error: unknown) => this.failed(error));
  }

  /** Reports this process if something has changed, or if its last report is a minute old. */
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

  /** The jobs of all processes. Those of this process are current, even before its first report. */
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
      // Jitter: processes that started together drift apart.
      INTERVAL * (0.5 + Math.random()),
    ).unref();
  }

  private failed(error: unknown): void {
    this.log.note(
      'report',
      () =>
        `This process could not report its jobs, so other processes show old ones: ${errorLine(error)}`,
    );
  }
}

/**
 * What is reported at once when it changes. Counts and times change with every
 * run of every job.
 */
function newsOf(jobs: readonly JobStatus[]): string {
  return JSON.stringify(
    jobs.map(({ name, running, failures, lastError }) => [name, running, failures, lastError]),
  );
}
