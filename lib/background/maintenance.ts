import type { MaintenanceSettings } from './maintenance.settings.js';
import { Job, type JobStatus, type Work } from './job.js';

type JobName = keyof MaintenanceSettings;

/** The jobs of this process. Each can be off here and on in another process. */
export class Maintenance {
  private readonly jobs = new Map<JobName, Job>();

  constructor(private readonly settings: MaintenanceSettings) {}

  /** @param work a function alone where a batch is over when it returns */
  add(name: JobName, work: Work | Work['run']): void {
    this.jobs.set(name, new Job(name, this.settings[name], work));
  }

  /** What each job is doing; one that fails shows how often and why. */
  get status(): JobStatus[] {
    return [...this.jobs.values()].map((job) => job.status);
  }

  /** Tells a job of this process that there is work. */
  wake(name: JobName): void {
    this.jobs.get(name)?.wake();
  }

  /** Runs one batch now, also of a job that is off: for tests and for your own schedulers. */
  async runOnce(name: JobName): Promise<number> {
    const job = this.jobs.get(name);
    if (!job) throw new Error(`There is no job "${name}".`);
    return job.runOnce();
  }

  start(): void {
    for (const [name, job] of this.jobs) if (this.settings[name].enabled) job.start();
  }

  /** @param timeout how long to wait for running work */
  async stop(timeout: number): Promise<void> {
    await Promise.all([...this.jobs.values()].map((job) => job.stop(timeout)));
  }
}
