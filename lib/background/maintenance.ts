import type { MaintenanceSettings } from './maintenance.settings.js';
import { Job, type JobStatus, type Work } from './job.js';

type JobName = keyof MaintenanceSettings;

/** The jobs of this process. Each can be off, while another process has it on. */
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

  /** There is work for a job, in this process. */
  wake(name: JobName): void {
    this.jobs.get(name)?.wake();
  }

  /** One batch now, also of a job that is off: for tests and for schedulers of your own. */
  async runOnce(name: JobName): Promise<number> {
    const job = this.jobs.get(name);
    if (!job) throw new Error(`There is no job "${name}".`);
    return job.runOnce();
  }

  start(): void {
    for (const [name, job] of this.jobs) if (this.settings[name].enabled) job.start();
  }

  /** @param timeout how long to wait for what is under way */
  async stop(timeout: number): Promise<void> {
    await Promise.all([...this.jobs.values()].map((job) => job.stop(timeout)));
  }
}
