import { Injectable } from '@nestjs/common';
import { ColumnCiphers } from '../encryption/column-cipher.js';
import { AUDIT, PHASE } from '../encryption/columns.js';
import { Database } from '../postgres/database.js';
import { ofKey } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';
import { completedWith, TOMBSTONE } from '../keys/end-of-retention.js';
import { storedAnswer } from '../keys/stored-answer.js';
import { isTime, nowIf } from '../postgres/times.js';
import { isKey, nameParameters } from '../schema/key-name.js';
import type { KeyStatus } from '../schema/key-status.js';
import { sqlCode, type ErrorCode } from '../schema/error-code.js';
import type { PhaseState } from '../schema/phase-record.js';
import type { Answer } from '../answers/answer.js';
import type { KeyState } from './operator-result.js';
import { stateOf, type SeenState } from './resolution-queries.js';
import type { ResolvedPhase } from './resolved-phase.js';

export interface Actor {
  who: string;
  why?: string | null;
}

/** The state of the key after a decision; null if it was removed. */
export interface Written {
  after: KeyState | null;
}

interface AuditEntry extends Actor {
  action: 'resolve' | 'resolve_key' | 'retry' | 'evict' | 'expire' | 'hold' | 'release_hold';
  after: KeyState | null;
}

/**
 * The state that the decision was based on. Every change of a key changes its
 * owner, attempt, lease or status.
 */
const AS_SEEN = `${isKey('k')} AND k.owner = $4 AND k.attempt = $5 AND k.status = $6
  AND ${isTime('k.locked_until', 7)}`;

/** A key that runs is never changed. */
const FENCE = `${AS_SEEN} AND (k.status <> 'in_progress' OR k.locked_until <= now())`;

/** A key that somebody holds may not go, not even if the hold came a moment ago. */
const MAY_GO = `${FENCE} AND k.held_at IS NULL`;

/** Phases of the key that was changed. */
const OF_CHANGED = 'p.scope = $1 AND p.key_id IN (SELECT id FROM changed)';

/** The parameters of the fence and of the audit come before it. */
const FIRST_PARAMETER = 14;

/** The writes of a decision: one statement each, fenced, with its audit entry in it. */
@Injectable()
export class ResolutionStore {
  private readonly keys: string;
  private readonly phases: string;
  private readonly audit: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
    this.audit = database.table('idempotency_audit');
  }

  /**
   * Records what became of a foreign call. After that the key can be resumed: by a
   * retry or, if it has an operation, by the completer right away.
   */
  async resolvePhase(
    seen: SeenState & { phase: string; phaseState: PhaseState },
    resolved: ResolvedPhase,
    actor: Actor,
  ): Promise<Written | undefined> {
    const after: KeyState = {
      status: 'failed_retryable',
      attempt: seen.attempt,
      lastErrorCode: `phase_${resolved.state}`,
      phase: { name: seen.phase, state: resolved.state },
    };
    const cipher = await this.ciphers.of(seen.scope);
    const phase = { keyId: seen.id, name: seen.phase };
    const [name, from, state, result] = [0, 1, 2, 3].map((n) => `$${FIRST_PARAMETER + n}`);
    return this.write(
      seen,
      { ...actor, action: 'resolve', after },
      `UPDATE ${this.keys} k SET ${RESUMABLE}, last_error_code = '${after.lastErrorCode}' WHERE ${FENCE}`,
      [
        seen.phase,
        seen.phaseState,
        resolved.state,
        cipher.json(resolved.result, PHASE.result, phase),
      ],
      `, resolved_phase AS (
         UPDATE ${this.phases} p
         SET state = ${state}, result = ${result}::json, finished_at = statement_timestamp()
         WHERE ${OF_CHANGED} AND p.name = ${name} AND p.state = ${from}
       )`,
    );
  }

  /** Somebody found out that the unknown key did nothing that must not happen again: it may run again. */
  makeRetryable(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    const after = stateAfter(seen, 'failed_retryable', 'resolved');
    return this.write(
      seen,
      { ...actor, action: 'resolve_key', after },
      `UPDATE ${this.keys} k SET ${RESUMABLE}, last_error_code = ${sqlCode('resolved')} WHERE ${FENCE}`,
    );
  }

  /** Somebody found out that the work is finished, and gave its answer. */
  async complete(seen: SeenState, answer: Answer, actor: Actor): Promise<Written | undefined> {
    const cipher = await this.ciphers.of(seen.scope);
    const stored = storedAnswer(cipher, seen, answer);
    return this.write(
      seen,
      { ...actor, action: 'resolve_key', after: stateAfter(seen, 'completed', null) },
      `UPDATE ${this.keys} k
       SET ${completedWith(FIRST_PARAMETER, `$${FIRST_PARAMETER + 3}`)}, recovery_point = 'finished', last_error_code = NULL
       WHERE ${FENCE}`,
      [
        stored.responseStatus,
        stored.responseHeaders && JSON.stringify(stored.responseHeaders),
        stored.responseBody,
        stored.responseVersion,
      ],
    );
  }

  /** The reconciler asks again, from the beginning. */
  askAgain(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    return this.write(
      seen,
      { ...actor, action: 'retry', after: stateAfter(seen, 'unknown', 'in_doubt') },
      `UPDATE ${this.keys} k
       SET reconcile_after = now(), reconcile_attempts = 0, last_error_code = ${sqlCode('in_doubt')}
       WHERE ${FENCE}`,
    );
  }

  /** The completer gets another round of attempts, beginning now. */
  resume(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    return this.write(
      seen,
      { ...actor, action: 'retry', after: stateAfter(seen, seen.status, 'retry_requested') },
      `UPDATE ${this.keys} k SET resume_after = now(), resume_attempts = 0, last_error_code = ${sqlCode('retry_requested')} WHERE ${FENCE}`,
    );
  }

  evict(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    return this.write(
      seen,
      { ...actor, action: 'evict', after: null },
      `DELETE FROM ${this.keys} k WHERE ${MAY_GO}`,
      [],
      this.forgetPhases,
    );
  }

  bury(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    return this.write(
      seen,
      { ...actor, action: 'expire', after: stateAfter(seen, 'expired', null) },
      `UPDATE ${this.keys} k SET ${TOMBSTONE} WHERE ${MAY_GO}`,
      [],
      this.forgetPhases,
    );
  }

  /** Nobody will finish it: the key is closed with an answer that says so. */
  close(seen: SeenState, answer: Answer, actor: Actor): Promise<Written | undefined> {
    return this.write(
      seen,
      { ...actor, action: 'expire', after: stateAfter(seen, 'completed', 'unfinished') },
      `UPDATE ${this.keys} k SET ${completedWith(FIRST_PARAMETER)}, last_error_code = ${sqlCode('unfinished')} WHERE ${MAY_GO}`,
      [answer.status, JSON.stringify(answer.headers), answer.body],
    );
  }

  /** The key is kept until it is released, whatever happens to it. It may run meanwhile. */
  hold(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    return this.write(
      seen,
      { ...actor, action: 'hold', after: { ...stateOf(seen), held: true } },
      `UPDATE ${this.keys} k SET held_at = now() WHERE ${AS_SEEN} AND k.held_at IS NULL`,
    );
  }

  /** From now on its retention counts again. */
  releaseHold(seen: SeenState, actor: Actor): Promise<Written | undefined> {
    const { held: _held, ...after } = stateOf(seen);
    return this.write(
      seen,
      { ...actor, action: 'release_hold', after },
      `UPDATE ${this.keys} k SET held_at = NULL WHERE ${AS_SEEN} AND k.held_at IS NOT NULL`,
    );
  }

  private get forgetPhases(): string {
    return `, forgotten AS (DELETE FROM ${this.phases} p WHERE ${OF_CHANGED})`;
  }

  /** Undefined: the key has changed since it was seen, and nothing was written. */
  private async write(
    seen: SeenState,
    entry: AuditEntry,
    change: string,
    parameters: readonly unknown[] = [],
    also = '',
  ): Promise<Written | undefined> {
    const cipher = await this.ciphers.of(seen.scope);
    const audited = { keyId: seen.id, messageId: null, action: entry.action };
    const rows = await this.database.query(
      `WITH changed AS (${change} RETURNING k.id)${also}
       INSERT INTO ${this.audit} (key_id, scope, endpoint, key, effect_key, action, who, why, before, after)
       SELECT id, $1, $2, $3, $8::uuid, $9, $10, $11, $12::json, $13::json
       FROM changed
       RETURNING id`,
      [
        ...nameParameters(seen),
        seen.owner,
        seen.attempt,
        seen.status,
        seen.lockedUntil,
        seen.effectKey,
        entry.action,
        entry.who,
        cipher.text(entry.why, AUDIT.why, audited),
        cipher.json(JSON.stringify(stateOf(seen)), AUDIT.before, audited),
        cipher.json(entry.after && JSON.stringify(entry.after), AUDIT.after, audited),
        ...parameters,
      ],
    );
    if (rows.length !== 1) return undefined;
    tell(seen, entry);
    return { after: entry.after };
  }
}

/**
 * Nothing is in doubt any more. The lease changes, although nobody holds it: an
 * attempt that read the phases before this must not take the key over with them.
 */
const RESUMABLE = `
  status = 'failed_retryable', reconcile_after = NULL, locked_until = now(),
  resume_after = ${nowIf('operation IS NOT NULL')}`;

function stateAfter(seen: SeenState, status: KeyStatus, lastErrorCode: ErrorCode | null): KeyState {
  return { status, attempt: seen.attempt, lastErrorCode, ...(seen.held && { held: true }) };
}

function tell(seen: SeenState, { action, who, after }: AuditEntry): void {
  if (action !== 'resolve' && action !== 'resolve_key') {
    publish('decided', () => ({ ...ofKey(seen), action, who }));
    return;
  }
  const phase = after?.phase?.name;
  publish('resolved', () => ({ ...ofKey(seen), action, who, phase, status: after!.status }));
}
