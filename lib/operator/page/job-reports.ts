import type { JobStatus } from '../../background/job.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';

/** A job of one process. */
export interface ReportedJob extends JobStatus {
  /** Which process it runs in, as people can find it. */
  process: string;
  /** The process has not reported for minutes: its values are old. */
  gone: boolean;
}

/** Where the page gets the state of the jobs from. */
export abstract class JobReports {
  /** Whose jobs they are: behind a load balancer, one process does not know all of them. */
  abstract readonly whose: 'all processes' | 'this process';

  abstract list(): Promise<ReportedJob[]>;
}

/** The jobs of every process that reports itself. */
export class FleetJobReports extends JobReports {
  readonly whose = 'all processes';

  constructor(private readonly operator: IdempotencyOperator) {
    super();
  }

  async list(): Promise<ReportedJob[]> {
    const reported = await this.operator.jobs();
    return reported.map(({ process: { host, pid, gone }, ...job }) => ({
      ...job,
      process: `${host}, process ${pid}`,
      gone,
    }));
  }
}
