import { Job } from '../background/job.js';
import type { GaugeStore, Gauges } from './gauge-store.js';

/** A claim outlasts the longest pause of the job, which is one and a half of its interval. */
const CLAIM = 2;

/**
 * Reads the gauges of the database again and again, in one process at a time:
 * otherwise each process would show the same numbers, and the database would be
 * asked as often as there are processes.
 */
export class GaugeReader {
  private readonly job: Job;
  private claim: string | undefined;
  private gauges: Gauges | undefined;

  constructor(
    private readonly store: GaugeStore,
    private readonly interval: number,
  ) {
    this.job = new Job('gauges', { interval, batch: 2 }, () => this.read());
  }

  /** Undefined where another process reads them, or none could. */
  get latest(): Gauges | undefined {
    return this.gauges;
  }

  start(): void {
    this.job.start();
    this.job.wake();
  }

  /** Now, also while the job does not run. */
  async readOnce(): Promise<void> {
    await this.job.runOnce();
  }

  async stop(): Promise<void> {
    await this.job.stop();
    const { claim } = this;
    this.claim = undefined;
    this.gauges = undefined;
    // Whoever comes next waits for the claim to lapse at worst.
    if (claim !== undefined) await this.store.release(claim).catch(() => undefined);
  }

  private async read(): Promise<number> {
    try {
      this.claim = await this.store.claim(CLAIM * this.interval, this.claim);
      this.gauges = this.claim === undefined ? undefined : await this.store.read();
    } catch (error) {
      // What cannot be read any more is not shown as if it were so now.
      this.gauges = undefined;
      throw error;
    }
    return this.gauges ? 1 : 0;
  }
}
