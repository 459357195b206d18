import { senderOf, type StatementSender } from '../postgres/statement-sender.js';
import type { PhaseEntry, PhaseStore, RecordedEntry } from './phase-store.js';
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
   */
  constructor(phases: PhaseStore, wait: number, batching = true) {
    this.entries = senderOf(
      batching,
      (entries) => phases.record(entries).catch(throwWithoutValues),
      { name: 'phases', wait, weigh },
    );
  }

  /** Undefined: the lease is lost. */
  record(entry: PhaseEntry): Promise<RecordedEntry | undefined> {
    return this.entries.call(entry);
  }
}

function weigh(entry: PhaseEntry): number {
  const text = entry.state === 'intended' ? entry.request : entry.result;
  return OVERHEAD + (text?.length ?? 0);
}
