import { Job } from '../background/job.js';
import type { GaugeStore, Gauges } from './gauge-store.js';

/** A claim is longer than the longest pause of the job, which is 1.5 times its interval. */
const CLAIM = 2;

/**
 * Reads the gauges of the database periodically, in one process at a time:
 * otherwise every process would read the same numbers.
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

  /** Undefined if another process reads them, or if the last read failed. */
  get latest(): Gauges | undefined {
    return this.gauges;
  }

  start(): void {
    this.job.start();
    this.job.wake();
  }

  /** Reads them now, even if the job is stopped. */
  async readOnce(): Promise<void> {
    await this.job.runOnce();
  }

  async stop(): Promise<void> {
    await this.job.stop();
    const { claim } = this;
    this.claim = undefined;
    this.gauges = undefined;
    // At worst, the next process waits for the claim to lapse.
    if (claim !== undefined) await this.store.release(claim).catch(() => undefined);
  }

  private async read(): Promise<number> {
    try {
      this.claim = await this.store.claim(CLAIM * this.interval, this.claim);
      this.gauges = this.claim === undefined ? undefined : await this.store.read();
    } catch (error) {
      // Old values are not shown as if they were current.
      this.gauges = undefined;
      throw error;
    }
    return this.gauges ? 1 : 0;
  }
}
