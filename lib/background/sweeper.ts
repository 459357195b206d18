import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import { ofKey } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';
import { whyNotResumable } from '../keys/decision.js';
import type { KeyTransitions } from '../keys/key-transitions.js';
import type { RecordedPhases } from '../keys/recorded-phases.js';
import type { Work } from './job.js';
import type { LapsedKey, SweeperStore } from './sweeper-store.js';

/** Large, because it mostly reads, in the order of an index. */
const PAGE = 10_000;

/**
 * Finds keys whose attempt died, even if nobody retries: they become resumable or
 * unknown, by the same rule as for a retry.
 *
 * One process at a time walks through the keys of the last minute and marks those
 * in progress; the position of the walk is kept in the database. So each run
 * reads as many rows as a minute's requests made, a page at a time, whatever the
 * size of the table, and a restart reads no more than what was not walked along.
 */
export class Sweeper implements Work {
  private readonly logger = new Logger('IdempotencyMaintenance');
  /** Where the walk continues; undefined if it has ended. */
  private page: string | undefined;
  /** Keys of this round that could not be changed; the others do not wait for them. */
  private readonly stuck = new Set<string>();

  constructor(
    private readonly store: SweeperStore,
    private readonly transitions: KeyTransitions,
    private readonly phases: RecordedPhases,
    /** For how long no other process has to walk, in milliseconds. */
    private readonly claim: number,
    /** There is something to complete. */
    private readonly released: () => void,
  ) {}

  async run(batch: number, asked = false): Promise<number> {
    let walking = await this.walk(asked);
    while (asked && walking) walking = await this.walk(asked);
    const lapsed = await this.store.lapsed(batch, [...this.stuck]);
    if (lapsed.length < batch) this.stuck.clear();
    await this.sweepAll(lapsed);
    return walking ? batch : lapsed.length;
  }

  /** True: there is more of it. */
  private async walk(asked: boolean): Promise<boolean> {
    this.page ??= await this.store.claimWalk(this.claim, asked);
    if (this.page === undefined) return false;
    const { last, settled, rows } = await this.store.walk(this.page, PAGE);
    await this.store.settle(settled);
    this.page = rows === PAGE ? last : undefined;
    return this.page !== undefined;
  }

  private async sweepAll(lapsed: readonly LapsedKey[]): Promise<void> {
    const failures: unknown[] = [];
    for (const key of lapsed) {
      try {
        await this.sweep(key);
      } catch (error) {
        this.stuck.add(key.id);
        failures.push(error);
      }
    }
    if (failures.length === 0) return;
    if (failures.length === lapsed.length) throw failures[0];
    this.logger.error(
      `${failures.length} idempotency key(s) could not be swept and will be tried again: ${errorLine(failures[0])}`,
    );
  }

  private async sweep(key: LapsedKey): Promise<void> {
    const phases = await this.phases.statesOf(key);
    const why = whyNotResumable(key, phases, { onAbandoned: key.onAbandoned ?? 'unknown' });
    const change = await (why === undefined
      ? this.transitions.release(key)
      : this.transitions.declareUnknown(key, why));
    if (change === 'locked') this.stuck.add(key.id);
    if (change !== 'changed') return;
    publish('swept', () => ({ ...ofKey(key), attempt: key.attempt, why }));
    if (why !== undefined) return;
    this.logger.warn(
      `Attempt ${key.attempt} of idempotency key ${key.id} died; it can be resumed at its last recovery point.`,
    );
    this.released();
  }
}
