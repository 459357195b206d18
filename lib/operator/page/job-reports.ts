import { hostname } from 'node:os';
import type { JobStatus } from '../../background/job.js';
import type { IdempotencyOperator } from '../idempotency-operator.js';

/** A job of one process. */
export interface ReportedJob extends JobStatus {
  /** Which process it runs in, as people can find it. */
  process: string;
}

/** Where the page learns what the jobs are doing. */
export abstract class JobReports {
  /** Whose jobs they are: behind a load balancer, those of one process are not the whole truth. */
  abstract readonly whose: 'all processes' | 'this process';

  abstract list(): Promise<ReportedJob[]>;
}

/** The jobs of this process alone. */
export class OwnJobReports extends JobReports {
  readonly whose = 'this process';

  constructor(private readonly operator: IdempotencyOperator) {
    super();
  }

  async list(): Promise<ReportedJob[]> {
    const own = `${hostname()}, process ${process.pid}`;
    return this.operator.jobs().map((job) => ({ ...job, process: own }));
  }
}
