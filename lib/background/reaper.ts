import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import { publish } from '../telemetry/publish.js';
import type { UnknownOutcomes } from '../keys/unknown-outcomes.js';
import { errorCode } from '../postgres/database-errors.js';
import type { OrphanedPhasesStore } from './orphaned-phases-store.js';
import type { DueKey, ReapOutcome, ReapedKey, ReaperStore } from './reaper-store.js';
import type { Answer } from '../answers/answer.js';

/**
 * How a row of the application can stop the reaper: it is locked for long
 * (55P03), or its foreign key forbids the removal (class 23).
 */
const OF_ONE_ROW = /^(55P03|23)/;

/** What is logged. Removals and tombstones are not: they happen to every key. */
const TELLING: Partial<Record<ReapOutcome, string>> = {
  closed: 'was never finished and is past its retention: closed with 408',
  overdue: 'is past its retention and still waits for the completer, which makes a last attempt',
};

/**
 * Removes, buries or closes keys past their retention, in the order of their
 * expiry, batch by batch. Locked rows are skipped and found again in the next
 * round. At the end of a round it looks for phases whose key somebody else removed.
 */
export class Reaper {
  private readonly logger = new Logger('IdempotencyMaintenance');
  /**
   * How far this round has come: the index entries of removed rows before it
   * remain until the next vacuum, and would be read again.
   */
  private from: string | null = null;
  /** Keys of this round that could not be removed. */
  private readonly stuck = new Map<string, unknown>();

  constructor(
    private readonly store: ReaperStore,
    private readonly orphanedPhases: OrphanedPhasesStore,
    /** The answer to a request that nobody finished. */
    private readonly unfinished: Answer,
    /** There is work for another job. */
    private readonly wake: (job: 'completer' | 'reconciler') => void,
    private readonly unknownOutcomes: UnknownOutcomes,
  ) {}

  async run(batch: number): Promise<number> {
    const choice = { limit: batch, from: this.from, except: [...this.stuck.keys()] };
    let reaped: ReapedKey[];
    try {
      reaped = await this.store.reap(choice, this.unfinished);
    } catch (error) {
      if (!OF_ONE_ROW.test(errorCode(error) ?? '')) throw error;
      reaped = await this.reapAround(await this.store.due(choice));
    }
    this.tell(reaped);
    if (reaped.length < batch) {
      this.endRound();
      await this.orphanedPhases.removeNext();
    } else this.from = reaped.at(-1)!.expiredAt;
    return reaped.length;
  }

  /**
   * One row of the application must not stop the others: the batch is halved
   * until the key is found.
   */
  private async reapAround(keys: readonly DueKey[]): Promise<ReapedKey[]> {
    if (keys.length === 0) return [];
    try {
      return await this.store.reapThese(keys, this.unfinished);
    } catch (error) {
      if (!OF_ONE_ROW.test(errorCode(error) ?? '')) throw error;
      if (keys.length === 1) {
        this.stuck.set(keys[0]!.id, error);
        return [];
      }
      const middle = Math.ceil(keys.length / 2);
      return [
        ...(await this.reapAround(keys.slice(0, middle))),
        ...(await this.reapAround(keys.slice(middle))),
      ];
    }
  }

  private endRound(): void {
    const [first] = this.stuck;
    if (first) {
      const [id, error] = first;
      this.logger.warn(
        `${this.stuck.size} idempotency key(s) past their retention could not be removed, such as ${id}: ${reasonOf(error)}. ` +
          'They are tried again. A foreign key to idempotency_keys needs ON DELETE SET NULL or CASCADE.',
      );
    }
    this.stuck.clear();
    this.from = null;
  }

  private tell(reaped: readonly ReapedKey[]): void {
    const fates = new Map<ReapOutcome, string[]>();
    for (const key of reaped) {
      const { id, outcome } = key;
      fates.set(outcome, [...(fates.get(outcome) ?? []), id]);
      const what = TELLING[outcome];
      if (what !== undefined) this.logger.warn(`Idempotency key ${id} ${what}.`);
      // The key is past its retention, and is kept.
      if (outcome === 'in_doubt') this.unknownOutcomes.note(key, 'in_doubt');
    }
    for (const [outcome, ids] of fates) publish('reaped', () => ({ outcome, ids }));
    if (reaped.some(({ outcome }) => outcome === 'overdue')) this.wake('completer');
    if (reaped.some(({ outcome }) => outcome === 'in_doubt')) this.wake('reconciler');
  }
}

/** The database's own message, which is the cause of the store's error. */
function reasonOf(error: unknown): string {
  return errorLine(error instanceof Error && error.cause ? error.cause : error);
}
