import { isConnectionLoss } from '../postgres/database-errors.js';
import { isTimeout } from '../postgres/batcher.js';
import { senderOf, type StatementSender } from '../postgres/statement-sender.js';
import type { EndedPhase, PhaseEntry, PhaseStore, RecordedEntry } from './phase-store.js';
import { throwWithoutValues } from './without-values.js';

/** The approximate size of an entry without its request or result. */
const OVERHEAD = 300;

/**
 * Entries of foreign phases, batched over the requests of this process: intents
 * and outcomes of different requests share a statement.
 */
export class PhaseBatches {
  private readonly entries: StatementSender<PhaseEntry, RecordedEntry | undefined>;

  /**
   * @param wait how long an entry waits for its statement to be sent, in milliseconds
   * @param batching false: each phase sends its own statements
   * @param exhausted whether all connections are in use
   */
  constructor(
    private readonly phases: PhaseStore,
    wait: number,
    readonly batching = true,
    exhausted?: () => boolean,
  ) {
    const send = (entries: PhaseEntry[]) => this.send(entries);
    this.entries = senderOf(batching, send, { name: 'phases', wait, weigh, exhausted });
  }

  /** Undefined: the lease is lost. */
  record(entry: PhaseEntry): Promise<RecordedEntry | undefined> {
    const recorded = this.entries.call(entry);
    if (entry.state === 'intended' || !entry.onItsWay) return recorded;
    return entry.onItsWay.wait(entry, recorded);
  }

  /** An outcome that was recorded with that of its attempt meanwhile is left out. */
  private async send(entries: PhaseEntry[]): Promise<(RecordedEntry | undefined)[]> {
    const here = entries.filter((entry) => onItsWayOf(entry)?.leave() !== false);
    if (here.length === entries.length) return this.sendAll(entries);
    const recorded = here.length > 0 ? await this.sendAll(here) : [];
    return entries.map((entry) => (here.includes(entry) ? recorded.shift() : undefined));
  }

  private async sendAll(entries: PhaseEntry[]): Promise<(RecordedEntry | undefined)[]> {
    try {
      return await this.phases.record(entries).catch(throwWithoutValues);
    } catch (error) {
      const onItsWay = entries.length === 1 ? onItsWayOf(entries[0]!) : undefined;
      if (!onItsWay?.next || isConnectionLoss(error) || isTimeout(error)) throw error;
      // Of an outcome and the intent that joined it, the database refuses one: each has to be tried by itself.
      onItsWay.next = undefined;
      return this.phases.record(entries).catch(throwWithoutValues);
    }
  }
}

function onItsWayOf(entry: PhaseEntry): EndedPhase['onItsWay'] {
  return entry.state === 'intended' ? undefined : entry.onItsWay;
}

function weigh(entry: PhaseEntry): number {
  const text = entry.state === 'intended' ? entry.request : entry.result;
  return OVERHEAD + (text?.length ?? 0);
}
