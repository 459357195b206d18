import type { FoundKey } from '../../../keys/found-key.js';
import type { Reservation } from '../../../keys/reservation.js';
import type { ErrorCode } from '../../../schema/error-code.js';
import { nameOf, type KeyName } from '../../../schema/key-name.js';
import type { KeyStatus } from '../../../schema/key-status.js';
import type { PhaseRecord } from '../../../schema/phase-record.js';

/** A row of `idempotency_keys`, with its phases. Times are those of `Date.now()`. */
export interface MemoryKey extends KeyName {
  id: string;
  fingerprint: Buffer;
  status: KeyStatus;
  recoveryPoint: string;
  owner: string;
  attempt: number;
  lockedUntil: number;
  lastRunAt: number;
  completedAt: number | null;
  expiresAt: number | null;
  reconcileAfter: number | null;
  resumeAfter: number | null;
  resumeAttempts: number;
  operation: string | null;
  input: string | null;
  leaseMs: number | null;
  maxRunTimeMs: number | null;
  lastErrorCode: ErrorCode | null;
  responseStatus: number | null;
  responseHeaders: Record<string, string | string[]> | null;
  responseBody: Buffer | null;
  phases: PhaseRecord[];
}

/** The tables of the fakes: gone with the test. What is decided about a row is up to the real protocol. */
export class MemoryStore {
  private readonly rows = new Map<string, MemoryKey>();
  private lastId = 0;

  find(name: KeyName): MemoryKey | undefined {
    return this.rows.get(nameOf(name));
  }

  byId(id: string): MemoryKey | undefined {
    return this.all.find((row) => row.id === id);
  }

  get all(): MemoryKey[] {
    return [...this.rows.values()];
  }

  insert(reservation: Omit<Reservation, 'observed' | 'asked'>): MemoryKey {
    const { scope, endpoint, key, fingerprint, owner, lease, retention } = reservation;
    const now = Date.now();
    const row: MemoryKey = {
      scope,
      endpoint,
      key,
      id: String((this.lastId += 1)),
      fingerprint,
      status: 'in_progress',
      recoveryPoint: 'started',
      owner,
      attempt: 1,
      lockedUntil: now + lease,
      lastRunAt: now,
      completedAt: null,
      expiresAt: retention === null ? null : now + retention,
      reconcileAfter: null,
      resumeAfter: null,
      resumeAttempts: 0,
      operation: null,
      input: null,
      leaseMs: null,
      maxRunTimeMs: null,
      lastErrorCode: null,
      responseStatus: null,
      responseHeaders: null,
      responseBody: null,
      phases: [],
    };
    this.rows.set(nameOf(row), row);
    return row;
  }

  remove(name: KeyName): void {
    this.rows.delete(nameOf(name));
  }

  clear(): void {
    this.rows.clear();
  }
}

/** As a statement would find it. */
export function foundIn(row: MemoryKey): FoundKey {
  const now = Date.now();
  const { responseStatus, responseHeaders, responseBody, expiresAt } = row;
  const from = (time: number | null) => (time === null ? null : time - now);
  const answered = responseStatus !== null && responseBody !== null;
  return {
    ...row,
    lockedUntil: String(row.lockedUntil),
    lapsed: row.lockedUntil <= now,
    pastRetention: expiresAt !== null && expiresAt <= now,
    expiresIn: from(expiresAt),
    runningFor: now - row.lastRunAt,
    reconcileIn: from(row.reconcileAfter),
    resumeIn: from(row.resumeAfter),
    traceparent: null,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    answer: answered
      ? { status: responseStatus, headers: responseHeaders ?? {}, body: responseBody }
      : undefined,
  };
}
