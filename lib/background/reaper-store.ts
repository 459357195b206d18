import { Injectable } from '@nestjs/common';
import type { Answer } from '../answers/answer.js';
import { sqlCode } from '../schema/error-code.js';
import { Database } from '../postgres/database.js';
import { exactTime } from '../postgres/times.js';
import { isPhaseOf, sameKey, type KeyName } from '../schema/key-name.js';
import { phaseInDoubt } from '../schema/phase-in-doubt.js';
import { completedWith, TOMBSTONE } from '../keys/end-of-retention.js';

/** What the reaper does to a key past its retention. */
export type ReapOutcome =
  | 'removed'
  /** It becomes a tombstone. */
  | 'buried'
  /** Nobody finished it: it is closed with a stored answer. */
  | 'closed'
  /** It waits for the completer, which makes a last attempt. */
  | 'overdue'
  /** A foreign call was begun and its outcome was never recorded: it is not forgotten. */
  | 'in_doubt';

export interface ReapedKey extends KeyName {
  id: string;
  outcome: ReapOutcome;
  /** Seconds since 1970; a string, because it is exact to the microsecond. */
  expiredAt: string;
}

/** A key past its retention. */
export interface DueKey {
  scope: string;
  id: string;
}

/** Which keys to reap next. */
export interface ReapChoice {
  limit: number;
  from: string | null;
  except: readonly string[];
}

/**
 * How long the reaper waits for a lock that a transaction of the application
 * holds on a row that references a key. Late retries wait as long for the
 * reaper's own locks.
 */
const LOCK_TIMEOUT = '250ms';

/**
 * How much time the completer has for an operation past its retention: twelve of
 * its longest pauses.
 */
const LAST_CHANCE = '1 hour';

/** The work is finished, and nobody will ask for its answer any more. */
const FINISHED = `k.status IN ('completed', 'performed')`;

/** Keys that run, whose outcome is unknown, or that somebody holds, must not be removed. */
const REAPABLE = `k.status IN ('completed', 'performed', 'expired', 'pending', 'failed_retryable')
           AND k.held_at IS NULL`;

/** The statements of the reaper. */
@Injectable()
export class ReaperStore {
  private readonly keys: string;
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /**
   * Reaps keys past their retention, in one statement. Locked rows are skipped,
   * and so are keys that run, are unknown or are held. Finished keys are removed; open
   * ones, which nobody finished, are closed with `answer`.
   */
  async reap(choice: ReapChoice, answer: Answer): Promise<ReapedKey[]> {
    const { limit, from, except } = choice;
    const next =
      '($5::float8 IS NULL OR k.expires_at >= to_timestamp($5)) AND NOT k.id = ANY ($6::bigint[])';
    const reaped = await this.database.scopes.claim(
      limit,
      () => this.due(choice),
      (most, scope, found) =>
        found
          ? this.reapFound(found, scope, answer)
          : this.send(next, most, answer, [from, except]),
    );
    return inOrder(reaped);
  }

  /** The same for these keys. */
  async reapThese(keys: readonly DueKey[], answer: Answer): Promise<ReapedKey[]> {
    const reaped = await this.database.scopes.each(keys, (some, scope) =>
      this.reapFound(some, scope, answer),
    );
    return inOrder(reaped);
  }

  private reapFound(
    keys: readonly DueKey[],
    scope: string[],
    answer: Answer,
  ): Promise<ReapedKey[]> {
    const ids = keys.map(({ id }) => id);
    const these = `k.id = ANY ($5::bigint[]) AND ${this.database.scopes.has('k', 6)}`;
    return this.send(these, ids.length, answer, [ids, ...scope]);
  }

  private send(
    which: string,
    limit: number,
    answer: Answer,
    parameters: readonly unknown[],
  ): Promise<ReapedKey[]> {
    const { scopes } = this.database;
    const having = (outcome: ReapOutcome) =>
      `due.outcome = '${outcome}' AND ${sameKey('k', 'due')} AND ${scopes.has('k', 6)}`;
    return this.database.query<ReapedKey>(
      `WITH due AS MATERIALIZED (
         SELECT k.id, k.scope, k.endpoint, k.key, k.expires_at,
                CASE
                  WHEN k.status = 'expired' OR (${FINISHED} AND k.on_expired IS NULL) THEN 'removed'
                  WHEN ${FINISHED} THEN 'buried'
                  WHEN k.resume_after IS NOT NULL AND k.overdue IS NULL THEN 'overdue'
                  WHEN EXISTS (${phaseInDoubt(this.phases, scopes.has('p', 6))}) THEN 'in_doubt'
                  ELSE 'closed'
                END AS outcome
         FROM ${this.keys} k
         WHERE (SELECT set_config('lock_timeout', '${LOCK_TIMEOUT}', true)) IS NOT NULL -- for this statement alone
           AND k.expires_at <= now()
           AND ${REAPABLE}
           AND ${which}
         ORDER BY k.expires_at
         LIMIT $4
         FOR UPDATE OF k SKIP LOCKED
       ), removed AS (
         DELETE FROM ${this.keys} k USING due WHERE ${having('removed')}
       ), buried AS (
         UPDATE ${this.keys} k SET ${TOMBSTONE} FROM due WHERE ${having('buried')}
       ), phases_of_both AS (
         DELETE FROM ${this.phases} p USING due
         WHERE due.outcome IN ('removed', 'buried') AND ${isPhaseOf('due')} AND ${scopes.has('p', 6)}
       ), closed AS (
         UPDATE ${this.keys} k SET ${completedWith(1)}, last_error_code = ${sqlCode('unfinished')}
         FROM due WHERE ${having('closed')}
       ), overdue AS (
         UPDATE ${this.keys} k
         SET overdue = true, last_error_code = ${sqlCode('overdue')}, resume_after = least(resume_after, now()),
             expires_at = now() + interval '${LAST_CHANCE}'
         FROM due WHERE ${having('overdue')}
       ), in_doubt AS (
         UPDATE ${this.keys} k
         SET status = 'unknown', last_error_code = ${sqlCode('in_doubt')}, reconcile_after = now(), resume_after = NULL
         FROM due WHERE ${having('in_doubt')}
       )
       SELECT id, scope, endpoint, key, outcome, ${exactTime('expires_at')} AS "expiredAt" FROM due ORDER BY expires_at`,
      [answer.status, JSON.stringify(answer.headers), answer.body, limit, ...parameters],
    );
  }

  /** The keys that would be reaped, without changing them. */
  due({ limit, from, except }: ReapChoice): Promise<DueKey[]> {
    return this.database.query<DueKey>(
      `SELECT scope, id FROM ${this.keys} k
       WHERE expires_at <= now() AND ${REAPABLE}
         AND ($2::float8 IS NULL OR expires_at >= to_timestamp($2)) AND NOT id = ANY ($3::bigint[])
       ORDER BY expires_at
       LIMIT $1`,
      [limit, from, except],
    );
  }
}

/** By expiry, where they came from several scopes. */
function inOrder(reaped: ReapedKey[]): ReapedKey[] {
  return reaped.sort((one, other) => Number(one.expiredAt) - Number(other.expiredAt));
}
