import type { Duration } from '../policy/duration.js';
import type { Names } from '../policy/unknown-names.js';

/** How often a job looks for work, and how much it handles at a time. */
export interface JobOptions {
  /** The pause between two runs, plus or minus half of it. */
  interval?: Duration;
  /**
   * While runs find nothing, the pause doubles up to this. Work that this process
   * knows of does not wait for it. @default interval; 5 s for the outbox
   */
  maxInterval?: Duration;
  /** The maximum number of rows per run. After a full batch the next one follows soon. */
  batch?: number;
}

/**
 * The jobs. Every process that imports the module takes part. You can turn them
 * off where requests are served and on in a worker, or leave them on everywhere.
 */
export interface MaintenanceOptions {
  /** Keys whose lease lapsed become resumable or unknown. @default every half of the module's `lease`, at most 15 s; 100 */
  sweeper?: false | JobOptions;
  /** Finished keys past their retention are removed. @default every minute, 1000 */
  reaper?: false | JobOptions;
  /** Operations whose client does not come back are completed. @default every 5 s, 20 */
  completer?: false | (JobOptions & { /** @default 10 */ maxAttempts?: number });
  /** The reconcilers are asked about unknown outcomes. @default every 10 s, 20 */
  reconciler?: false | (JobOptions & { /** @default 10 */ maxAttempts?: number });
  /**
   * Messages of the outbox are delivered; `batch` is how many at a time.
   * @default every second, 50
   */
  outbox?: false | JobOptions;
}

const JOB_NAMES = { interval: true, maxInterval: true, batch: true } satisfies Names<JobOptions>;

/** The names of each job's options. */
export const MAINTENANCE_NAMES = {
  sweeper: JOB_NAMES,
  reaper: JOB_NAMES,
  completer: { ...JOB_NAMES, maxAttempts: true },
  reconciler: { ...JOB_NAMES, maxAttempts: true },
  outbox: JOB_NAMES,
} satisfies {
  [Job in keyof Required<MaintenanceOptions>]: Names<
    Exclude<MaintenanceOptions[Job], false | undefined>
  >;
};
