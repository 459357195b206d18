import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import { publish } from '../telemetry/publish.js';
import type { UnknownOutcomes } from '../keys/unknown-outcomes.js';
import { errorCode } from '../postgres/database-errors.js';
import type { ReapOutcome, ReapedKey, ReaperStore } from './reaper-store.js';
import type { Answer } from '../answers/answer.js';

/** What a row of the user's can do: hold a lock for long (55P03), or insist on its reference (class 23). */
const OF_ONE_ROW = /^(55P03|23)/;

/** What is worth a line in the log. Removals and tombstones are what every key comes to. */
const TELLING: Partial<Record<ReapOutcome, string>> = {
  closed: 'was never finished and is past its retention: closed with 408',
  overdue: 'is past its retention and still waits for the completer, which gets a last chance',
};

/**
 * Ends the life of keys past their retention. It goes along the time of expiry,
 * batch by batch; what others are at is skipped and met again on the next round.
 */
export class Reaper {
  private readonly logger = new Logger('IdempotencyMaintenance');
  /** Where this round has come to: rows before it are gone, and so are their index entries, but not swept yet. */
  private from: string | null = null;
  /** Keys of this round that could not be removed. */
  private readonly stuck = new Map<string, unknown>();

  constructor(
    private readonly store: ReaperStore,
    /** What a request that nobody finished is answered with. */
    private readonly unfinished: Answer,
    /** There is something for another job. */
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
    if (reaped.length < batch) this.endRound();
    else this.from = reaped.at(-1)!.expiredAt;
    return reaped.length;
  }

  /** One row of the user's must not keep all the others: halves find out which key it is. */
  private async reapAround(ids: readonly string[]): Promise<ReapedKey[]> {
    if (ids.length === 0) return [];
    try {
      return await this.store.reap({ ids }, this.unfinished);
    } catch (error) {
      if (!OF_ONE_ROW.test(errorCode(error) ?? '')) throw error;
      if (ids.length === 1) {
        this.stuck.set(ids[0]!, error);
        return [];
      }
      const middle = Math.ceil(ids.length / 2);
      return [
        ...(await this.reapAround(ids.slice(0, middle))),
        ...(await this.reapAround(ids.slice(middle))),
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
      // It is past its retention, and is kept.
      if (outcome === 'in_doubt') this.unknownOutcomes.note(key, 'in_doubt');
    }
    for (const [outcome, ids] of fates) publish('reaped', () => ({ outcome, ids }));
    if (reaped.some(({ outcome }) => outcome === 'overdue')) this.wake('completer');
    if (reaped.some(({ outcome }) => outcome === 'in_doubt')) this.wake('reconciler');
  }
}

/** The database's own words, below those of the store. */
function reasonOf(error: unknown): string {
  return errorLine(error instanceof Error && error.cause ? error.cause : error);
}
