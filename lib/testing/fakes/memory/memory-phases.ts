import type { Attempt } from '../../../keys/attempt.js';
import type { RecordedPhases } from '../../../keys/recorded-phases.js';
import type { PhaseBatches } from '../../../phases/phase-batches.js';
import type { UnrecordedOutcome } from '../../../phases/phase-journal.js';
import type {
  OperationOutcome,
  PhaseEntry,
  PhaseStore,
  RecordedEntry,
} from '../../../phases/phase-store.js';
import type { KeyName } from '../../../schema/key-name.js';
import type { PhaseRecord } from '../../../schema/phase-record.js';
import type { MemoryKey, MemoryStore } from './memory-store.js';

/** Behind every phase. */
const LAST_POSITION = 2_147_483_647;

/** The phases of keys, written with the fence and read for the next attempt. */
export class MemoryPhases
  implements
    Pick<PhaseBatches, 'record' | 'batching'>,
    Pick<PhaseStore, 'finishOperation'>,
    Pick<RecordedPhases, 'of'>
{
  readonly batching = false;

  constructor(private readonly store: MemoryStore) {}

  /** Copies: an attempt sees what was recorded before it, and not what it records itself. */
  async of(name: KeyName): Promise<PhaseRecord[]> {
    return (this.store.find(name)?.phases ?? []).map((phase) => ({ ...phase }));
  }

  async record(entry: PhaseEntry): Promise<RecordedEntry | undefined> {
    const { attempt, name, position, kind, state } = entry;
    const row = this.owned(attempt);
    if (!row) return undefined;
    row.lockedUntil = Date.now() + attempt.lease;
    if (attempt.operation) {
      row.operation = attempt.operation.name;
      row.input = attempt.operation.input ?? null;
      row.leaseMs = attempt.lease;
      row.maxRunTimeMs = attempt.policy.maxRunTime;
    }
    let record = row.phases.find((phase) => phase.name === name);
    if (!record) row.phases.push((record = emptyRecord({ name, position, kind })));
    record.state = state;
    if (entry.state === 'intended') {
      // Of the first intent: a repeat is made under the same key, with the same request.
      record.effectKey ??= entry.effectKey;
      record.request ??= entry.request;
      record.inDoubt = entry.inDoubt;
      record.startedAt = new Date();
      return { startedAt: record.startedAt };
    }
    record.result = entry.result;
    if (state === 'finished') row.recoveryPoint = name;
    return { startedAt: null };
  }

  async finishOperation(
    attempt: Attempt,
    outcome: OperationOutcome,
    unrecorded: UnrecordedOutcome | undefined,
  ): Promise<boolean> {
    const row = this.owned(attempt);
    if (!row) return false;
    const phase = row.phases.find(
      ({ name, state }) => name === unrecorded?.name && state === 'intended',
    );
    if (phase) Object.assign(phase, unrecorded);
    row.status = 'performed';
    row.lastErrorCode = row.resumeAfter = null;
    row.completedAt = Date.now();
    row.phases.push({
      ...emptyRecord({
        name: `operation:${row.operation}`,
        position: LAST_POSITION,
        kind: 'operation',
      }),
      ...outcome,
    });
    return true;
  }

  private owned(attempt: Attempt): MemoryKey | undefined {
    const row = this.store.find(attempt);
    return row?.owner === attempt.owner && row.status === 'in_progress' ? row : undefined;
  }
}

export function emptyRecord(place: Pick<PhaseRecord, 'name' | 'position' | 'kind'>): PhaseRecord {
  return {
    ...place,
    state: 'finished',
    effectKey: null,
    inDoubt: null,
    keyForgotten: false,
    startedAt: new Date(),
    request: undefined,
    result: undefined,
  };
}
