import type { ColumnCipher } from '../encryption/column-cipher.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import type { OfAttempt } from '../telemetry/events.js';
import { ofKey } from '../telemetry/key-labels.js';
import type { Observation } from '../telemetry/observation.js';
import { publish } from '../telemetry/publish.js';
import type { Reservation } from './reservation.js';
import type { PhaseOnItsWay } from './last-phase.js';
import type { Lease } from './lease-store.js';

/** What an attempt finds on record when it begins. */
export interface AttemptRow {
  id: string;
  number: number;
  recoveryPoint: string;
  resumeAttempts: number;
  recorded: readonly PhaseRecord[];
  /** The previous attempt died. */
  died?: boolean;
  byWorker?: boolean;
}

/** Whoever has to know that an attempt has lost its lease. */
export interface LossListener {
  /** @param silently a simulated crash: a dead process reports nothing */
  lost(attempt: Attempt, silently: boolean): void;
}

/** One attempt at one key in this process, from reservation to recording. */
export class Attempt implements Lease {
  readonly id: string;
  readonly scope: string;
  readonly endpoint: string;
  readonly key: string;
  readonly owner: string;
  readonly lease: number;
  /** 1 for the first run, +1 for each takeover. */
  readonly number: number;
  readonly policy: ResolvedPolicy;
  /** How often workers have tried to complete the key's operation. */
  readonly resumeAttempts: number;
  /** The phases that earlier attempts recorded, in order. */
  readonly recorded: readonly PhaseRecord[];
  /** The outcome of the resumable operation, if it was completed without its client. */
  readonly operationEnd: PhaseRecord | undefined;
  /** Of its scope. */
  readonly cipher: ColumnCipher;
  readonly observed: Observation;

  /** By performance.now(). */
  readonly startedAt = performance.now();
  /** Where it is among those that the lease keeper holds. */
  place: number | undefined;

  recoveryPoint: string;
  /** The pipes accepted the request and the handler was called. */
  began = false;
  /** Resolves, and never rejects, when the handler's own promise settles; undefined after that. */
  handler: Promise<void> | undefined;
  /** What the handler threw. */
  error: unknown;
  /**
   * Its outcome is being recorded. From now on this attempt itself may have
   * changed the row, so only the recording can tell that the lease is lost.
   */
  recording = false;
  /** The resumable operation that the handler called, stored with the first phase: its input is as it is stored. */
  operation: { name: string; input: string | null } | undefined;
  /** It runs without its client. */
  inBackground = false;
  /** The operation is left to a worker. */
  leftToWorker = false;
  /** Called when the handler has ended by leaving its operation to a worker. */
  onLeftToWorker: (() => void) | undefined;
  /** A foreign call is in doubt; no further phase may start. */
  doubt: { phase: string; repeatable: boolean } | undefined;

  /** The handler has ended, and the outcome of its last phase is still being recorded. */
  onItsWay: PhaseOnItsWay | undefined;

  /** Told once, when the lease is lost. */
  keeper: LossListener | undefined;

  private controller: AbortController | undefined;
  private lost = false;

  constructor(
    reservation: Pick<
      Reservation,
      'scope' | 'endpoint' | 'key' | 'owner' | 'lease' | 'cipher' | 'observed'
    >,
    policy: ResolvedPolicy,
    row: AttemptRow,
  ) {
    this.id = row.id;
    this.scope = reservation.scope;
    this.endpoint = reservation.endpoint;
    this.key = reservation.key;
    this.owner = reservation.owner;
    this.lease = reservation.lease;
    this.cipher = reservation.cipher;
    this.observed = reservation.observed;
    this.policy = policy;
    this.number = row.number;
    this.recoveryPoint = row.recoveryPoint;
    this.resumeAttempts = row.resumeAttempts;
    this.recorded = row.recorded.filter((phase) => phase.kind !== 'operation');
    this.operationEnd = row.recorded.find((phase) => phase.kind === 'operation');
    const { recoveryPoint, died = false, byWorker = false } = row;
    if (row.number === 1) publish('reserved', () => this.described);
    else publish('taken_over', () => ({ ...this.described, recoveryPoint, died, byWorker }));
  }

  /** How events describe it. */
  get described(): OfAttempt {
    return { ...ofKey(this), route: this.observed.route, attempt: this.number };
  }

  get leaseLost(): boolean {
    return this.lost;
  }

  /** Aborts when the lease is lost: what the handler does after that is not kept. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.lost) this.controller.abort(leaseLostReason(this));
    return this.controller.signal;
  }

  /** @param silently a simulated crash: a dead process reports nothing */
  loseLease(silently = false): void {
    if (this.lost) return;
    this.lost = true;
    if (!silently)
      publish('lease_lost', () => ({ ...this.described, recoveryPoint: this.recoveryPoint }));
    this.keeper?.lost(this, silently);
    this.controller?.abort(leaseLostReason(this));
  }
}

function leaseLostReason(attempt: Attempt): Error {
  return new Error(
    // Without the client's key: the error may be logged.
    `Attempt ${attempt.number} of idempotency key ${attempt.id} lost its lease; nothing it writes from here on is kept.`,
  );
}
