import type { KeyOutcome, RecordedOutcome } from '../../../keys/key-outcome.js';
import type { KeyStore } from '../../../keys/key-store.js';
import type { Reservation, ReserveResult } from '../../../keys/reservation.js';
import { foundIn, type MemoryStore } from './memory-store.js';

/** How far a client's clock may be behind, as in the database. */
const CLOCK_SKEW = 5_000;

/** Takes keys and records how they ended, as the statements of `KeyStore` do. */
export class MemoryKeys implements Pick<KeyStore, keyof KeyStore> {
  constructor(private readonly store: MemoryStore) {}

  async reserve(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    return wanted.map((reservation) => {
      const row = this.store.find(reservation);
      if (row) return { kind: 'found', key: foundIn(row) };
      if (isStale(reservation)) return { kind: 'stale' };
      return { kind: 'reserved', id: this.store.insert(reservation).id };
    });
  }

  async lookUp(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    return wanted.map((reservation) => {
      const row = this.store.find(reservation);
      return row ? { kind: 'found', key: foundIn(row) } : { kind: 'missed' };
    });
  }

  async finish(outcomes: readonly KeyOutcome[]): Promise<Map<string, RecordedOutcome>> {
    const recorded = new Map<string, RecordedOutcome>();
    for (const outcome of outcomes) {
      const row = this.store.byId(outcome.id);
      if (row?.owner !== outcome.owner || row.status !== 'in_progress') continue;
      const now = Date.now();
      const { status, retention, resumeIn } = outcome;
      const completed = status === 'completed';
      row.status = status;
      if (completed) row.recoveryPoint = 'finished';
      row.responseStatus = outcome.responseStatus;
      row.responseHeaders = outcome.responseHeaders;
      row.responseBody = outcome.responseBody;
      row.lastErrorCode = outcome.errorCode;
      row.reconcileAfter = status === 'unknown' ? now : null;
      const resumes = status === 'failed_retryable' && row.operation !== null && resumeIn !== null;
      row.resumeAfter = resumes ? now + resumeIn : null;
      if (status !== 'performed') row.completedAt = completed ? now : null;
      const whole = retention === null ? null : now + retention;
      const kept = whole !== null && row.expiresAt !== null && row.expiresAt <= whole;
      if (completed && (row.attempt > 1 || !kept)) row.expiresAt = whole;
      recorded.set(row.owner, { expiresAt: foundIn(row).expiresAt });
    }
    return recorded;
  }

  async reserveAndFinish(wanted: readonly Reservation[], outcomes: readonly KeyOutcome[]) {
    const recorded = await this.finish(outcomes);
    return { reserved: await this.reserve(wanted), recorded };
  }
}

function isStale({ madeAt, retention }: Reservation): boolean {
  return madeAt !== undefined && retention !== null && madeAt + retention < Date.now() - CLOCK_SKEW;
}
