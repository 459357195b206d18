import type { FencedResult, KeyTransitions } from '../../../keys/key-transitions.js';
import type { Lease } from '../../../keys/lease-store.js';
import type { SeenKey } from '../../../keys/seen-key.js';
import { UnknownOutcomes } from '../../../keys/unknown-outcomes.js';
import type { ErrorCode } from '../../../schema/error-code.js';
import type { KeyName } from '../../../schema/key-name.js';
import type { MemoryKey, MemoryStore } from './memory-store.js';

/** Moves one key from one state to another, fenced as the statements of `KeyTransitions` are. */
export class MemoryTransitions implements Pick<KeyTransitions, keyof KeyTransitions> {
  readonly unknownOutcomes = new UnknownOutcomes();

  /** Memory stays. */
  readonly areClosed = false;

  constructor(private readonly store: MemoryStore) {}

  async takeOver(
    seen: SeenKey,
    owner: string,
    lease: number,
    byWorker = false,
  ): Promise<FencedResult> {
    const free = ['failed_retryable', 'performed', 'pending'];
    return this.change(seen, (row) => free.includes(row.status) || isLapsed(row), {
      status: 'in_progress',
      owner,
      attempt: seen.attempt + 1,
      lastRunAt: Date.now(),
      lockedUntil: Date.now() + lease,
      lastErrorCode: null,
      resumeAfter: Date.now() + lease,
      ...(byWorker && { resumeAttempts: (this.store.find(seen)?.resumeAttempts ?? 0) + 1 }),
    });
  }

  /** Nothing is ever lost on the way to the memory, so there is nothing to confirm. */
  async confirm({ owner, ...name }: Lease): Promise<boolean> {
    const row = this.store.find(name);
    return row?.owner === owner && row.status === 'in_progress';
  }

  async declareUnknown(seen: SeenKey, errorCode: ErrorCode, route?: string): Promise<FencedResult> {
    const condition = (row: MemoryKey) => row.status === 'failed_retryable' || isLapsed(row);
    const result = this.change(seen, condition, {
      status: 'unknown',
      lastErrorCode: errorCode,
      reconcileAfter: Date.now(),
      resumeAfter: null,
    });
    if (result === 'changed') this.unknownOutcomes.note(seen, errorCode, route);
    return result;
  }

  async release(seen: SeenKey): Promise<FencedResult> {
    return this.change(seen, isLapsed, (row) => ({
      ...openAgain(row),
      lastErrorCode: 'attempt_died',
      resumeAfter: row.operation !== null && row.completedAt === null ? Date.now() : null,
    }));
  }

  async giveUpOperation(seen: SeenKey): Promise<FencedResult> {
    const open = ['failed_retryable', 'pending'];
    return this.change(seen, (row) => open.includes(row.status), {
      status: 'failed_retryable',
      lastErrorCode: 'attempts_exhausted',
      resumeAfter: null,
    });
  }

  async forget(name: KeyName): Promise<void> {
    this.store.remove(name);
  }

  async giveBack(reservation: Omit<Lease, 'lease'>): Promise<void> {
    const row = this.running(reservation);
    if (row?.attempt === 1) this.store.remove(row);
    else if (row) Object.assign(row, openAgain(row), { lastErrorCode: 'handler_not_begun' });
  }

  async leaveToWorker(
    attempt: Lease,
    { name, input, maxRunTime }: { name: string; input: string | null; maxRunTime: number },
  ): Promise<boolean> {
    const row = this.running(attempt);
    if (!row) return false;
    row.status = 'pending';
    row.operation = name;
    row.input = input ?? null;
    row.leaseMs = attempt.lease;
    row.maxRunTimeMs = maxRunTime;
    row.lockedUntil = row.resumeAfter = Date.now();
    return true;
  }

  private running(lease: Omit<Lease, 'lease'>): MemoryKey | undefined {
    const row = this.store.find(lease);
    return row?.owner === lease.owner && row.status === 'in_progress' ? row : undefined;
  }

  private change(
    seen: SeenKey,
    condition: (row: MemoryKey) => boolean,
    changes: Partial<MemoryKey> | ((row: MemoryKey) => Partial<MemoryKey>),
  ): FencedResult {
    const row = this.store.find(seen);
    const asSeen =
      row?.owner === seen.owner &&
      row.attempt === seen.attempt &&
      String(row.lockedUntil) === seen.lockedUntil;
    if (!row || !asSeen || !condition(row)) return 'outdated';
    Object.assign(row, typeof changes === 'function' ? changes(row) : changes);
    return 'changed';
  }
}

function isLapsed({ status, lockedUntil }: MemoryKey): boolean {
  return status === 'in_progress' && lockedUntil <= Date.now();
}

function openAgain({ completedAt }: MemoryKey): Pick<MemoryKey, 'status'> {
  return { status: completedAt === null ? 'failed_retryable' : 'performed' };
}
