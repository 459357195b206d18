import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { sqlCode, type ErrorCode } from '../schema/error-code.js';
import { isTime, nowIf } from '../postgres/times.js';
import { isKey, nameParameters, type KeyName } from '../schema/key-name.js';
import type { Lease } from './lease-store.js';
import type { SeenKey } from './seen-key.js';
import { UnknownOutcomes } from './unknown-outcomes.js';

/** The result of changing a key that nobody runs. */
export type FencedResult =
  | 'changed'
  /** It has changed since it was seen. */
  | 'outdated'
  /** Its row is locked, by a transaction that is running or hangs. */
  | 'locked';

/** Its lease has lapsed. */
const LAPSED = `(k.status = 'in_progress' AND k.locked_until <= now())`;

/**
 * The status of a key whose attempt ended without an answer. A performed
 * operation stays performed.
 */
const OPEN_AGAIN = `CASE WHEN completed_at IS NULL THEN 'failed_retryable' ELSE 'performed' END`;

/** Moves one key from one state to another. Every statement is fenced by what the caller saw, or by its owner. */
@Injectable()
export class KeyTransitions {
  /** Reports each key that becomes unknown. */
  readonly unknownOutcomes = new UnknownOutcomes();
  private readonly keys: string;
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /** The application has shut down: no statement reaches the database any more. */
  get areClosed(): boolean {
    return this.database.isClosed;
  }

  /**
   * Makes another attempt the owner of a key that nobody runs. `seen` is what the
   * decision was based on: if the key has changed since, no row matches. A
   * stalled owner may have resumed and recorded a further phase, which the new
   * attempt would not know; the lease shows that, because phases renew it.
   *
   * @param byWorker counts as one of the workers' attempts
   */
  takeOver(seen: SeenKey, owner: string, lease: number, byWorker = false): Promise<FencedResult> {
    return this.change(
      seen,
      `(k.status IN ('failed_retryable', 'performed', 'pending') OR ${LAPSED})`,
      `status = 'in_progress', owner = $7, attempt = attempt + 1, last_run_at = now(),
       locked_until = now() + $8::float8 * interval '1 millisecond', last_error_code = NULL,
       resume_after = now() + $8::float8 * interval '1 millisecond', -- for the sweeper, should it die again
       resume_attempts = resume_attempts + $9::int`,
      [owner, lease, byWorker ? 1 : 0],
    );
  }

  /**
   * Renews the lease of an attempt that has found itself in its row. Only the
   * commit of a write waits for a synchronous standby: without it, a failover
   * could lose a reservation whose handler runs. False: it has lost its lease.
   */
  async confirm(reservation: Lease): Promise<boolean> {
    const { owner, lease } = reservation;
    const rows = await this.database.for(reservation).query(
      `UPDATE ${this.keys} k SET locked_until = now() + $5::float8 * interval '1 millisecond'
       WHERE ${isKey('k')} AND owner = $4 AND status = 'in_progress' AND ${BOUNDED_LOCK_WAIT}
       RETURNING id`,
      [...nameParameters(reservation), owner, lease],
    );
    return rows.length === 1;
  }

  /** Nobody can know how far the dead attempt got: the key is kept until somebody resolves it. */
  async declareUnknown(seen: SeenKey, errorCode: ErrorCode, route?: string): Promise<FencedResult> {
    const result = await this.change(
      seen,
      `(k.status = 'failed_retryable' OR ${LAPSED})`,
      `status = 'unknown', last_error_code = $7, reconcile_after = now(), resume_after = NULL`,
      [errorCode],
    );
    if (result === 'changed') this.unknownOutcomes.note(seen, errorCode, route);
    return result;
  }

  /** Nobody runs it, and a retry or the completer may. */
  release(seen: SeenKey): Promise<FencedResult> {
    return this.change(
      seen,
      LAPSED,
      `status = ${OPEN_AGAIN}, last_error_code = ${sqlCode('attempt_died')},
       resume_after = ${nowIf('operation IS NOT NULL AND completed_at IS NULL')}`,
    );
  }

  /** Workers have tried it the maximum number of times: it is left to its client and to people. */
  giveUpOperation(seen: SeenKey): Promise<FencedResult> {
    return this.change(
      seen,
      `k.status IN ('failed_retryable', 'pending')`,
      `status = 'failed_retryable', last_error_code = ${sqlCode('attempts_exhausted')}, resume_after = NULL`,
    );
  }

  /**
   * Changes a key that nobody runs, if it still is as it was seen. It does not
   * wait for a locked row: a hanging transaction would cost each request for the
   * key a connection.
   */
  private async change(
    seen: SeenKey,
    condition: string,
    assignments: string,
    parameters: readonly unknown[] = [],
  ): Promise<FencedResult> {
    const matching = `SELECT k.id FROM ${this.keys} k
         WHERE ${isKey('k')} AND k.owner = $4 AND k.attempt = $5
           AND ${isTime('k.locked_until', 6)} AND ${condition}`;
    const [row] = await this.database.for(seen).query<{ changed: boolean; matches: boolean }>(
      `WITH matching AS (${matching}), free AS (
         ${matching} FOR NO KEY UPDATE SKIP LOCKED
       ), changed AS (
         UPDATE ${this.keys} k SET ${assignments}
         WHERE ${isKey('k')} AND EXISTS (SELECT FROM free) RETURNING k.id
       )
       SELECT EXISTS (SELECT FROM changed) AS changed, EXISTS (SELECT FROM matching) AS matches`,
      [...nameParameters(seen), seen.owner, seen.attempt, seen.lockedUntil, ...parameters],
    );
    if (row?.changed) return 'changed';
    return row?.matches ? 'locked' : 'outdated';
  }

  /** Removes a finished key that is past its retention and not held, so that it can be used again. */
  async forget(name: KeyName): Promise<void> {
    await this.database.for(name).query(
      `WITH removed AS (
         DELETE FROM ${this.keys} k
         WHERE ${isKey('k')} AND status = 'completed' AND expires_at <= now() AND held_at IS NULL AND ${BOUNDED_LOCK_WAIT}
         RETURNING k.id
       )
       DELETE FROM ${this.phases} WHERE scope = $1 AND key_id IN (SELECT id FROM removed)`,
      nameParameters(name),
    );
  }

  /**
   * Releases a key whose handler never began. After a first attempt the row is
   * removed, unless it is held, and it has no phases; after a later one the key stays open, because
   * earlier attempts did begin. Also true if there is nothing left to release, as after a lost reply.
   */
  async giveBack(reservation: Omit<Lease, 'lease'>): Promise<void> {
    await this.database.for(reservation).query(
      `WITH removed AS (
         DELETE FROM ${this.keys} k
         WHERE ${isKey('k')} AND owner = $4
           AND status = 'in_progress' AND attempt = 1 AND held_at IS NULL AND ${BOUNDED_LOCK_WAIT}
       )
       UPDATE ${this.keys} k
       SET status = ${OPEN_AGAIN}, last_error_code = ${sqlCode('handler_not_begun')},
           resume_after = CASE WHEN operation IS NOT NULL AND completed_at IS NULL THEN resume_after END
       WHERE ${isKey('k')} AND owner = $4 AND status = 'in_progress' AND (attempt > 1 OR held_at IS NOT NULL)`,
      [...nameParameters(reservation), reservation.owner],
    );
  }

  /** Leaves the operation of an attempt to a worker. False: the lease is lost. */
  async leaveToWorker(
    attempt: Lease,
    { name, input, maxRunTime }: { name: string; input: string | null; maxRunTime: number },
  ): Promise<boolean> {
    const rows = await this.database.for(attempt).query(
      `UPDATE ${this.keys} k
       SET status = 'pending', operation = $5, input = $6::json, lease_ms = $7, max_run_time_ms = $8,
           locked_until = now(), resume_after = now()
       WHERE ${isKey('k')} AND owner = $4 AND status IN ('in_progress', 'pending') AND ${BOUNDED_LOCK_WAIT}
       RETURNING id`,
      [...nameParameters(attempt), attempt.owner, name, input, attempt.lease, maxRunTime],
    );
    return rows.length === 1;
  }
}
