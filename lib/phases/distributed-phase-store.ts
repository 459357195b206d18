import type { Attempt } from '../keys/attempt.js';
import { foundNoRow } from '../postgres/database-errors.js';
import type { UnrecordedOutcome } from './phase-journal.js';
import {
  PhaseStore,
  type OperationOutcome,
  type PhaseEntry,
  type RecordedEntry,
} from './phase-store.js';

/**
 * The same on tables that are distributed by scope: each entry has a statement of
 * its own, which is sent to one node. It writes the entry without knowing what
 * the fence found, and fails if the lease is lost, so nothing of it is kept.
 */
export class DistributedPhaseStore extends PhaseStore {
  override async record(entries: readonly PhaseEntry[]): Promise<(RecordedEntry | undefined)[]> {
    const recorded: (RecordedEntry | undefined)[] = [];
    for (const entry of entries) {
      const [only] = (await super.record([entry]).catch(ifFenced)) ?? [];
      recorded.push(only);
    }
    return recorded;
  }

  override async finishOperation(
    attempt: Attempt,
    outcome: OperationOutcome,
    unrecorded: UnrecordedOutcome | undefined,
  ): Promise<boolean> {
    return (await super.finishOperation(attempt, outcome, unrecorded).catch(ifFenced)) ?? false;
  }
}

/** The lease is lost: undefined. Any other error is one. */
function ifFenced(error: unknown): undefined {
  if (!foundNoRow(error)) throw error;
}
