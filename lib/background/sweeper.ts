import { Logger } from '@nestjs/common';
import { whyNotResumable } from '../keys/decision.js';
import type { KeyStore } from '../keys/key-store.js';
import type { LapsedKey, MaintenanceStore } from '../keys/maintenance-store.js';
import type { PhaseStore } from '../phases/phase-store.js';

/** Large, because it only reads, along the primary key. */
const PAGE = 10_000;

/**
 * Finds keys whose attempt died, even if nobody retries: they become resumable
 * or unknown, by the same rule as for a retry. Each process walks along all new
 * keys once and remembers those that were in progress.
 */
export class Sweeper {
  private readonly logger = new Logger('IdempotencyMaintenance');
  private walkedTo = '0';
  private inProgress: string[] = [];

  constructor(
    private readonly store: MaintenanceStore,
    private readonly keys: KeyStore,
    private readonly phases: PhaseStore,
    /** There is something to complete. */
    private readonly released: () => void,
  ) {}

  async run(batch: number): Promise<number> {
    let page: Awaited<ReturnType<MaintenanceStore['page']>>;
    do {
      page = await this.store.page(this.walkedTo, PAGE);
      this.walkedTo = page.last;
      this.inProgress.push(...page.open);
    } while (page.full);

    const { live, lapsed } = await this.store.lapsed(this.inProgress, batch);
    const now = lapsed.slice(0, batch);
    this.inProgress = [...live, ...lapsed.slice(batch).map((key) => key.id)];
    for (const key of now) await this.sweep(key);
    return now.length;
  }

  private async sweep(key: LapsedKey): Promise<void> {
    const phases = await this.phases.load(key.id);
    const why = whyNotResumable(key, phases, { onAbandoned: key.onAbandoned ?? 'unknown' });
    if (why !== undefined) {
      await this.keys.declareUnknown(key, why);
      this.logger.warn(
        `Attempt ${key.attempt} of idempotency key ${key.id} died (${why}): its outcome is unknown and has to be found out.`,
      );
    } else if (await this.store.release(key)) {
      this.logger.warn(
        `Attempt ${key.attempt} of idempotency key ${key.id} died; it can be resumed at its last recovery point.`,
      );
      this.released();
    }
  }
}
