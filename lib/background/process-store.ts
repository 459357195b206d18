import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import type { JobStatus } from './job.js';

/** Three reports are missing: a live process would have reported. */
const GONE_AFTER = '3 minutes';

/** A process that died is shown for this long, so that somebody can notice. */
const FORGOTTEN_AFTER = '1 hour';

/** The maximum number of rows that one report removes, and that are shown. */
const MOST_REMOVED = 100;
const MOST_LISTED = 1_000;

/** What a process reports. */
export interface OwnReport {
  id: string;
  host: string;
  pid: number;
  version: string;
  /** Milliseconds since it started; the database computes the date with its own clock. */
  uptime: number;
  jobs: readonly JobStatus[];
}

/** A process as it last reported itself. */
export interface ReportedProcess {
  /** Generated when the process booted. */
  id: string;
  host: string;
  pid: number;
  /** The version of this package that it runs. */
  version: string;
  startedAt: Date;
  reportedAt: Date;
  /** It has not reported for three minutes: it died, or it cannot reach the database. */
  gone: boolean;
}

/** The statements on the table of processes, which has one row per process. */
@Injectable()
export class ProcessStore {
  private readonly processes: string;

  constructor(private readonly database: Database) {
    this.processes = database.table('idempotency_processes');
  }

  /** Writes the row of this process, and removes those of processes that died long ago. */
  async report({ id, host, pid, version, uptime, jobs }: OwnReport): Promise<void> {
    await this.database.for().query(
      `WITH forgotten AS (
         DELETE FROM ${this.processes}
         WHERE id IN (
           SELECT id FROM ${this.processes}
           WHERE reported_at < now() - interval '${FORGOTTEN_AFTER}' AND id <> $1
           LIMIT ${MOST_REMOVED}
           FOR UPDATE SKIP LOCKED
         )
       )
       INSERT INTO ${this.processes} (id, host, pid, version, jobs, started_at)
       VALUES ($1, $2, $3, $4, $5, now() - $6::float8 * interval '1 millisecond')
       ON CONFLICT (id) DO UPDATE SET jobs = EXCLUDED.jobs, reported_at = now()`,
      [id, host, pid, version, JSON.stringify(jobs), uptime],
    );
  }

  async remove(id: string): Promise<void> {
    await this.database.for().query(`DELETE FROM ${this.processes} WHERE id = $1`, [id]);
  }

  async list(): Promise<(ReportedProcess & { jobs: JobStatus[] })[]> {
    const rows = await this.database.for().query<ReportedProcess & { jobs: WrittenJob[] }>(
      `SELECT id, host, pid, version, jobs,
              ${milliseconds('started_at')} AS "startedAt",
              ${milliseconds('reported_at')} AS "reportedAt",
              reported_at < now() - interval '${GONE_AFTER}' AS gone
       FROM ${this.processes}
       ORDER BY host, pid, started_at
       LIMIT ${MOST_LISTED}`,
      [],
    );
    return rows.map((row) => ({
      ...withDates(row, 'startedAt', 'reportedAt'),
      jobs: row.jobs.map(jobFrom),
    }));
  }
}

/** A job's status as JSON, where a time is a string and undefined members are missing. */
interface WrittenJob extends Omit<JobStatus, 'lastRunAt' | 'nextRunAt'> {
  lastRunAt?: string;
  nextRunAt?: string;
}

function jobFrom({ lastRunAt, nextRunAt, ...job }: WrittenJob): JobStatus {
  const date = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return {
    ...job,
    lastError: job.lastError,
    lastRunAt: date(lastRunAt),
    nextRunAt: date(nextRunAt),
  };
}
