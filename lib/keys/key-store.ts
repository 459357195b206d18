import { Injectable } from '@nestjs/common';
import type { Answer } from '../answers/answer.js';
import { Database } from '../postgres/database.js';
import { Failed } from '../postgres/batcher.js';
import { parametersFor, type Rows } from '../postgres/parameter-rows.js';
import {
  finishSql,
  lookUpSql,
  recordedSql,
  reserveAndFinishSql,
  reserveSql,
} from './key-statements.js';
import { finishParameters, reserveParameters, toFound, type LookUpRow } from './key-rows.js';
import type { RequestSummary } from '../request/kept-request.js';
import type { ErrorCode } from '../schema/error-code.js';
import { sqlCode } from '../schema/error-code.js';
import type { KeyName } from '../schema/key-name.js';
import type { SeenKey } from './seen-key.js';
import type { KeyStatus } from '../schema/key-status.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { PreparedStatement } from '../postgres/prepared-statement.js';
import { withDates } from '../postgres/times.js';

/** A request for the right to run a key. */
export interface Reservation extends KeyName {
  fingerprint: Buffer;
  /** Made before the first statement, so that a lost reply is recognised. */
  owner: string;
  lease: number;
  retention: number | null;
  onAbandoned: 'resume' | 'unknown';
  onExpired: 'forget' | 'gone';
  /** When the client made the key, in milliseconds. A new key that is older than its retention is refused. */
  madeAt?: number | undefined;
  asked: RequestSummary;
}

/** A key as a statement found it. Everything about time was compared on the database's clock. */
export interface FoundKey {
  id: string;
  fingerprint: Buffer;
  status: KeyStatus;
  recoveryPoint: string;
  owner: string;
  attempt: number;
  /** Seconds to the microsecond, hence a string. Every sign of life of an attempt moves it. */
  lockedUntil: string;
  lapsed: boolean;
  pastRetention: boolean;
  /** Milliseconds until then; null where it is kept for ever. */
  expiresIn: number | null;
  /** Milliseconds since the running attempt began. */
  runningFor: number;
  /** Milliseconds until somebody looks into an unknown outcome. */
  reconcileIn: number | null;
  /** Milliseconds until a worker goes on with it; null where none will. */
  resumeIn: number | null;
  /** How often workers have tried. */
  resumeAttempts: number;
  /** The resumable operation that is on record. */
  operation: string | null;
  expiresAt: Date | null;
  responseStatus: number | null;
  /** Undefined where there is no answer, or none that this version can read. */
  answer: Answer | undefined;
}

export type ReserveResult =
  | { kind: 'reserved'; id: string }
  | { kind: 'found'; key: FoundKey }
  /** Lost the insert, and the winner's row has gone since: reserve again. */
  | { kind: 'missed' }
  /** Not there, and made so long ago that it may have been there. */
  | { kind: 'stale' }
  /** Somebody's transaction holds the key's row and does not end, and there is nothing to read yet. */
  | { kind: 'locked'; error: unknown }
  /** Taken by somebody, and not to be read. The others of its statement have what they took. */
  | { kind: 'unread'; error: unknown };

/** What came of an attempt to change a key that nobody runs. */
export type FencedResult =
  | 'changed'
  /** Something happened to it since it was seen. */
  | 'outdated'
  /** Somebody is at it this very moment, or stands still in the middle of it. */
  | 'locked';

/** How an attempt ended. */
export interface Ending {
  id: string;
  owner: string;
  status: Extract<KeyStatus, 'completed' | 'failed_retryable' | 'performed' | 'unknown'>;
  responseStatus: number | null;
  responseHeaders: Record<string, string | string[]> | null;
  /** Null where the body cannot be replayed. */
  responseBody: Buffer | null;
  errorCode: ErrorCode | null;
  retention: number | null;
  /** When the completer may try, if the key has an operation; null for never. */
  resumeIn: number | null;
}

/** An ending that is on record. */
export interface RecordedEnding {
  expiresAt: Date | null;
}

/** The right to run a key, as held by an attempt of this process. */
export interface Lease {
  id: string;
  owner: string;
  lease: number;
}

/** Its attempt gave no sign of life for the length of its lease. */
const LAPSED = `(k.status = 'in_progress' AND k.locked_until <= now())`;

/** A key whose attempt ended without an answer. If its operation was performed before, it still is. */
const OPEN_AGAIN = `CASE WHEN completed_at IS NULL THEN 'failed_retryable' ELSE 'performed' END`;

/** Every statement on `idempotency_keys`. All but `reserve` are fenced by id, owner and status. */
@Injectable()
export class KeyStore {
  private readonly keys: string;
  private readonly reserveStatement: Record<Rows, PreparedStatement>;
  private readonly finishStatement: Record<Rows, PreparedStatement>;
  private readonly reserveAndFinishStatement: PreparedStatement;
  private readonly lookUpStatement: PreparedStatement;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.reserveStatement = {
      one: new PreparedStatement(reserveSql(this.keys, 'one')),
      many: new PreparedStatement(reserveSql(this.keys, 'many')),
    };
    this.finishStatement = {
      one: new PreparedStatement(finishSql(this.keys, 'one')),
      many: new PreparedStatement(finishSql(this.keys, 'many')),
    };
    this.reserveAndFinishStatement = new PreparedStatement(reserveAndFinishSql(this.keys));
    this.lookUpStatement = new PreparedStatement(lookUpSql(this.keys));
  }

  /** Takes the keys that are free, and then reads the ones that were not. */
  async reserve(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    const count = wanted.length === 1 ? 'one' : 'many';
    const rows = await this.database.query<ReservedRow>(
      this.reserveStatement[count],
      parametersFor(count, reserveParameters(wanted)),
    );
    return this.reserved(wanted, rows);
  }

  /** Both at once, for different requests: one trip, one transaction. */
  async reserveAndFinish(
    wanted: readonly Reservation[],
    endings: readonly Ending[],
  ): Promise<{ reserved: ReserveResult[]; recorded: Map<string, RecordedEnding> | Failed }> {
    const rows = await this.database.query<ReservedRow | FinishedRow>(
      this.reserveAndFinishStatement,
      [...reserveParameters(wanted), ...finishParameters(endings)],
      'urgent',
    );
    const isReserved = (row: ReservedRow | FinishedRow): row is ReservedRow => row.id !== null;
    const [reserved, recorded] = await Promise.all([
      this.reserved(wanted, rows.filter(isReserved)),
      // Whoever asks again finds out; the reservations must not be lost over it.
      this.recorded(
        endings,
        rows.filter((row) => !isReserved(row)),
      ).catch((error: unknown) => new Failed(error)),
    ]);
    return { reserved, recorded };
  }

  private reserved(
    wanted: readonly Reservation[],
    rows: readonly ReservedRow[],
  ): ReserveResult[] | Promise<ReserveResult[]> {
    const ids = new Map(rows.map(({ owner, id }) => [owner, id]));
    const results = (found: ReserveResult[]) =>
      wanted.map<ReserveResult>(({ owner }) => {
        const id = ids.get(owner);
        return id === undefined ? found.shift()! : { kind: 'reserved', id };
      });
    const taken = wanted.filter(({ owner }) => !ids.has(owner));
    if (taken.length === 0) return results([]);
    return this.lookUp(taken).catch(unread(taken)).then(results);
  }

  /** Reads keys without a lock, and without taking any. */
  async lookUp(wanted: readonly Reservation[]): Promise<ReserveResult[]> {
    const rows = await this.database.query<LookUpRow>(this.lookUpStatement, [
      wanted.map((w) => w.scope),
      wanted.map((w) => w.endpoint),
      wanted.map((w) => w.key),
      wanted.map((w) => w.retention),
      wanted.map((w) => w.madeAt ?? null),
    ]);
    return rows.map(toFound);
  }

  /**
   * Makes another attempt the owner of a key that nobody runs. `seen` is what
   * the decision was based on: if anything happened since, no row matches. A
   * stalled owner may have come back to life and recorded a further phase, which
   * the new attempt would not know of; the lease tells, since phases renew it.
   *
   * @param byWorker counts as one of the attempts that workers have
   */
  takeOver(seen: SeenKey, owner: string, lease: number, byWorker = false): Promise<FencedResult> {
    return this.change(
      seen,
      `(k.status IN ('failed_retryable', 'performed', 'pending') OR ${LAPSED})`,
      `status = 'in_progress', owner = $5, attempt = attempt + 1, last_run_at = now(),
       locked_until = now() + $6::float8 * interval '1 millisecond', last_error_code = NULL,
       resume_after = now() + $6::float8 * interval '1 millisecond', -- for the sweeper, should it die again
       resume_attempts = resume_attempts + $7::int`,
      [owner, lease, byWorker ? 1 : 0],
    );
  }

  /** Nobody can know how far the dead attempt got: keep the key until somebody found out. */
  declareUnknown(seen: SeenKey, errorCode: ErrorCode): Promise<FencedResult> {
    return this.change(
      seen,
      `(k.status = 'failed_retryable' OR ${LAPSED})`,
      `status = 'unknown', last_error_code = $5, reconcile_after = now(), resume_after = NULL`,
      [errorCode],
    );
  }

  /** Nobody runs it, and a retry or the completer may. */
  release(seen: SeenKey): Promise<FencedResult> {
    return this.change(
      seen,
      LAPSED,
      `status = ${OPEN_AGAIN}, last_error_code = ${sqlCode('attempt_died')},
       resume_after = CASE WHEN operation IS NOT NULL AND completed_at IS NULL THEN now() END`,
    );
  }

  /** Workers have tried it often enough: it is left to its client and to people. */
  giveUpOperation(seen: SeenKey): Promise<FencedResult> {
    return this.change(
      seen,
      `k.status IN ('failed_retryable', 'pending')`,
      `status = 'failed_retryable', last_error_code = ${sqlCode('attempts_exhausted')}, resume_after = NULL`,
    );
  }

  /**
   * Changes a key that nobody runs, if it still is as it was seen. A row that
   * somebody has locked is not waited for: one that stands still would take a
   * connection from each request that asks for its key.
   */
  private async change(
    seen: SeenKey,
    condition: string,
    assignments: string,
    parameters: readonly unknown[] = [],
  ): Promise<FencedResult> {
    const matching = `SELECT k.id FROM ${this.keys} k
         WHERE k.id = $1 AND k.owner = $2 AND k.attempt = $3
           AND extract(epoch FROM k.locked_until) = $4::numeric AND ${condition}`;
    const [row] = await this.database.query<{ changed: boolean; matches: boolean }>(
      `WITH matching AS (${matching}), free AS (
         ${matching} FOR NO KEY UPDATE SKIP LOCKED
       ), changed AS (
         UPDATE ${this.keys} k SET ${assignments} FROM free WHERE k.id = free.id RETURNING k.id
       )
       SELECT EXISTS (SELECT FROM changed) AS changed, EXISTS (SELECT FROM matching) AS matches`,
      [seen.id, seen.owner, seen.attempt, seen.lockedUntil, ...parameters],
    );
    if (row?.changed) return 'changed';
    return row?.matches ? 'locked' : 'outdated';
  }

  /** Removes a finished key that is past its retention, so that it can be used anew. */
  async forget(id: string): Promise<void> {
    await this.database.query(
      `DELETE FROM ${this.keys}
       WHERE id = $1 AND status = 'completed' AND expires_at <= now() AND ${BOUNDED_LOCK_WAIT}`,
      [id],
    );
  }

  /**
   * Records how attempts ended. Returns those that are recorded, now or by an
   * earlier try whose reply was lost; any other attempt has lost its lease. By
   * their owners: two attempts of one key may end together, and one of them lost it.
   */
  async finish(endings: readonly Ending[]): Promise<Map<string, RecordedEnding>> {
    const count = endings.length === 1 ? 'one' : 'many';
    const rows = await this.database.query<FinishedRow>(
      this.finishStatement[count],
      parametersFor(count, finishParameters(endings)),
      'urgent',
    );
    return this.recorded(endings, rows);
  }

  private async recorded(
    endings: readonly Ending[],
    rows: readonly FinishedRow[],
  ): Promise<Map<string, RecordedEnding>> {
    const recorded = new Map<string, RecordedEnding>();
    const add = (row: FinishedRow) => recorded.set(row.owner, withDates(row, 'expiresAt'));
    rows.forEach(add);
    const missing = endings.filter(({ owner }) => !recorded.has(owner));
    const before = missing.length > 0 ? await this.recordedBefore(missing) : [];
    before.forEach(add);
    return recorded;
  }

  /** Asked by itself, so that it sees what an earlier try has committed while the last one waited for it. */
  private recordedBefore(endings: readonly Ending[]): Promise<FinishedRow[]> {
    return this.database.query<FinishedRow>(recordedSql(this.keys), [
      endings.map((e) => e.id),
      endings.map((e) => e.owner),
      endings.map((e) => e.status),
      endings.map((e) => e.responseStatus),
      endings.map((e) => e.responseBody),
    ]);
  }

  /**
   * Gives a key back whose handler never began. A first attempt leaves no
   * trace; a later one leaves the key open, because earlier attempts did begin.
   * True also where nothing is left to give back, as after a lost reply.
   */
  async giveBack(
    reservation: Pick<Reservation, 'scope' | 'endpoint' | 'key' | 'owner'>,
  ): Promise<void> {
    await this.database.query(
      `WITH removed AS (
         DELETE FROM ${this.keys}
         WHERE scope = $1 AND endpoint = $2 AND key = $3 AND owner = $4
           AND status = 'in_progress' AND attempt = 1 AND ${BOUNDED_LOCK_WAIT}
       )
       UPDATE ${this.keys}
       SET status = ${OPEN_AGAIN}, last_error_code = ${sqlCode('handler_not_begun')},
           resume_after = CASE WHEN operation IS NOT NULL AND completed_at IS NULL THEN resume_after END
       WHERE scope = $1 AND endpoint = $2 AND key = $3 AND owner = $4
         AND status = 'in_progress' AND attempt > 1`,
      [reservation.scope, reservation.endpoint, reservation.key, reservation.owner],
    );
  }

  /**
   * Renews the leases of this process in one statement and returns the owners of
   * those that are lost. A row that one of our own phases has locked is left
   * alone rather than waited for: the phase renews it itself. NO KEY: a phase
   * that has merely referenced the row, from a table of the user's, is no reason
   * to skip it, or the lease would lapse while the phase is at work.
   *
   * Without a length, a lease is not renewed, only looked at.
   */
  async renew(
    leases: readonly (Omit<Lease, 'lease'> & { lease: number | null })[],
  ): Promise<string[]> {
    const rows = await this.database.query<{ owner: string }>(
      `WITH held AS (
         SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::float8[]) AS h (id, owner, lease)
       ), free AS (
         SELECT k.id, h.lease
         FROM held h JOIN ${this.keys} k ON k.id = h.id AND k.owner = h.owner AND k.status = 'in_progress'
         WHERE h.lease IS NOT NULL
         FOR NO KEY UPDATE OF k SKIP LOCKED
       ), renewed AS (
         UPDATE ${this.keys} k
         SET locked_until = now() + free.lease * interval '1 millisecond'
         FROM free
         WHERE k.id = free.id
       )
       SELECT h.owner
       FROM held h
       LEFT JOIN ${this.keys} k ON k.id = h.id AND k.owner = h.owner AND k.status = 'in_progress'
       WHERE k.id IS NULL`,
      [leases.map((l) => l.id), leases.map((l) => l.owner), leases.map((l) => l.lease)],
      'reserved',
    );
    return rows.map((row) => row.owner);
  }

  /** Ends leases early, at shutdown, so that retries elsewhere need not wait for them to lapse. */
  async letGo(leases: readonly Omit<Lease, 'lease'>[]): Promise<void> {
    await this.database.query(
      `WITH free AS (
         SELECT k.id
         FROM unnest($1::bigint[], $2::uuid[]) AS h (id, owner)
         JOIN ${this.keys} k ON k.id = h.id AND k.owner = h.owner AND k.status = 'in_progress'
         FOR NO KEY UPDATE OF k SKIP LOCKED
       )
       UPDATE ${this.keys} k SET locked_until = now() FROM free WHERE k.id = free.id`,
      [leases.map((l) => l.id), leases.map((l) => l.owner)],
      'reserved',
    );
  }

  /** Leaves the operation of an attempt to a worker. False: the lease is lost. */
  async park(
    attempt: Lease,
    { name, input, maxRunTime }: { name: string; input: string | undefined; maxRunTime: number },
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.keys}
       SET status = 'pending', operation = $3, input = $4::json, lease_ms = $5, max_run_time_ms = $6,
           locked_until = now(), resume_after = now()
       WHERE id = $1 AND owner = $2 AND status IN ('in_progress', 'pending') AND ${BOUNDED_LOCK_WAIT}
       RETURNING id`,
      [attempt.id, attempt.owner, name, input ?? null, attempt.lease, maxRunTime],
    );
    return rows.length === 1;
  }

  /** Moves the clock of a key whose attempt is dead, for the testing kit: nobody waits for its lease then. */
  async lapse(id: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.keys} SET locked_until = now() WHERE id = $1 AND status = 'in_progress'`,
      [id],
    );
  }

  /** Which of these attempts still run: what waiting duplicates ask, all of a process at once. */
  async stillRunning(attempts: readonly Omit<Lease, 'lease'>[]): Promise<Set<string>> {
    const rows = await this.database.query<{ owner: string }>(
      `SELECT k.owner
       FROM unnest($1::bigint[], $2::uuid[]) AS a (id, owner)
       JOIN ${this.keys} k ON k.id = a.id AND k.owner = a.owner
       WHERE k.status = 'in_progress' AND k.locked_until > now()`,
      [attempts.map((a) => a.id), attempts.map((a) => a.owner)],
    );
    return new Set(rows.map((row) => row.owner));
  }
}

interface ReservedRow {
  id: string;
  owner: string;
}

interface FinishedRow extends RecordedEnding {
  id?: null;
  owner: string;
}

function unread(wanted: readonly unknown[]): (error: unknown) => ReserveResult[] {
  return (error) => wanted.map(() => ({ kind: 'unread', error }));
}
