import { Injectable } from '@nestjs/common';
import { isPlainJson, isPlainText } from '../encryption/marks.js';
import { ANSWER_VERSION } from '../keys/stored-answer.js';
import { TOMBSTONE } from '../keys/end-of-retention.js';
import { Database } from '../postgres/database.js';
import { isPhaseOf, sameKey } from '../schema/key-name.js';
import type { KeyStatus } from '../schema/key-status.js';
import { phaseInDoubt } from '../schema/phase-in-doubt.js';

/** A key that was not finished when its scope was erased. */
export interface OpenKey {
  id: string;
  status: KeyStatus;
  /** The foreign call in doubt, or under way. */
  phase: string | null;
  effectKey: string | null;
}

/** A message that was not delivered. */
export interface OpenMessage {
  id: string;
  topic: string;
  dead: boolean;
}

/** What is left to do for a scope. */
export interface OpenWork {
  keys: OpenKey[];
  messages: OpenMessage[];
}

const OPEN = `k.status IN ('pending', 'in_progress', 'failed_retryable', 'unknown')`;

/** Nobody reads a longer list. */
const MOST_NAMED = 1_000;

/** How many rows one statement changes. */
const BATCH = 500;

/** The data key that sealed key `k` is not the one of its scope any more. */
function erased(dataKeys: string): string {
  return `octet_length(k.fingerprint) > 32 AND NOT EXISTS (
            SELECT FROM ${dataKeys} d
            WHERE d.scope = $1 AND uuid_send(d.id) = substring(k.fingerprint FROM 2 FOR 16))`;
}

/** The id of the data key, in a sealed JSON value: behind its mark and its version. */
function dataKeyOf(column: string): string {
  return `substring(decode(substring(${column}::text FROM 3 FOR 24), 'base64') FROM 2 FOR 16)`;
}

/** The statements of an erasure. Each names the scope of every table, by which distributed tables find the node. */
@Injectable()
export class ErasureStore {
  private readonly keys: string;
  private readonly phases: string;
  private readonly outbox: string;
  private readonly audit: string;
  private readonly dataKeys: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
    this.outbox = database.table('idempotency_outbox');
    this.audit = database.table('idempotency_audit');
    this.dataKeys = database.table('idempotency_data_keys');
  }

  /** What is not finished, up to a thousand keys and messages. */
  async openWork(scope: string): Promise<OpenWork> {
    const keys = await this.database.query<OpenKey>(
      `SELECT k.id, k.status, d.phase, d."effectKey"
       FROM ${this.keys} k LEFT JOIN LATERAL (${phaseInDoubt(this.phases, 'p.scope = $1')}) d ON true
       WHERE k.scope = $1 AND ${OPEN}
       ORDER BY k.id LIMIT ${MOST_NAMED}`,
      [scope],
    );
    const messages = await this.database.query<OpenMessage>(
      `SELECT m.id, m.topic, m.dead_at IS NOT NULL AS dead FROM ${this.outbox} m
       WHERE m.scope = $1 ORDER BY m.position LIMIT ${MOST_NAMED}`,
      [scope],
    );
    return { keys, messages };
  }

  /** Whether somebody holds a key of the scope, so that nothing of it may go. */
  async isHeld(scope: string): Promise<boolean> {
    const [row] = await this.database.query<{ held: boolean }>(
      `SELECT EXISTS (SELECT FROM ${this.keys} k WHERE k.scope = $1 AND k.held_at IS NOT NULL) AS held`,
      [scope],
    );
    return row!.held;
  }

  /** Whether something of the scope is not sealed, so that it would stay readable. */
  async hasPlaintext(scope: string): Promise<boolean> {
    const [row] = await this.database.query<{ found: boolean }>(
      `SELECT EXISTS (
         SELECT FROM ${this.keys} k WHERE k.scope = $1 AND k.status <> 'expired'
           AND (octet_length(k.fingerprint) = 32 OR k.response_version = ${ANSWER_VERSION.plain}
             OR ${isPlainJson('k.request')} OR ${isPlainJson('k.input')} OR ${isPlainText('k.path')})
       ) OR EXISTS (
         SELECT FROM ${this.phases} p
         WHERE p.scope = $1 AND (${isPlainJson('p.request')} OR ${isPlainJson('p.result')})
       ) OR EXISTS (
         SELECT FROM ${this.outbox} m
         WHERE m.scope = $1 AND (${isPlainJson('m.payload')} OR ${isPlainText('m.last_error')})
       ) OR EXISTS (
         SELECT FROM ${this.audit} a
         WHERE a.scope = $1 AND a.action <> 'erase'
           AND (${isPlainText('a.why')} OR ${isPlainJson('a.before')} OR ${isPlainJson('a.after')})
       ) AS found`,
      [scope],
    );
    return row!.found;
  }

  /**
   * Deletes the data key, with its audit entry: from here on nothing of the scope
   * can be read. A hold prevents it, and, unless it is forced, work that came meanwhile. The
   * entry itself is not sealed: the scope has no key any more.
   */
  async deleteDataKey(
    scope: string,
    { who, why }: { who: string; why: string | null },
    force: boolean,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `WITH erased AS (
         DELETE FROM ${this.dataKeys} d
         WHERE d.scope = $1
           AND NOT EXISTS (SELECT FROM ${this.keys} k WHERE k.scope = $1 AND k.held_at IS NOT NULL)
           AND ($4::boolean OR NOT EXISTS (
             SELECT FROM ${this.keys} k WHERE k.scope = $1 AND ${OPEN}
           ) AND NOT EXISTS (SELECT FROM ${this.outbox} m WHERE m.scope = $1))
         RETURNING d.id, d.created_at
       )
       INSERT INTO ${this.audit} (scope, action, who, why, before)
       SELECT $1, 'erase', $2, $3, json_build_object('dataKey', id, 'createdAt', created_at)
       FROM erased
       RETURNING id`,
      [scope, who, why, force],
    );
    return rows.length === 1;
  }

  /**
   * Makes tombstones of keys that nobody can read any more, and removes their
   * phases. One that was not finished leaves an audit entry with what is not known
   * about it. Locked rows are left.
   *
   * The phase in doubt is not joined: Citus reads the rows of a join that locks only one side in
   * another format than it wrote them.
   */
  async bury(scope: string, who: string): Promise<{ buried: number; open: OpenKey[] }> {
    const inDoubt = (column: string) => `(${phaseInDoubt(this.phases, 'p.scope = $1', column)})`;
    const rows = await this.database.query<OpenKey & { open: boolean }>(
      `WITH due AS MATERIALIZED (
         SELECT k.id, k.scope, k.endpoint, k.key, k.status, k.attempt, ${OPEN} AS open,
                ${inDoubt('p.name')} AS phase, ${inDoubt('p.effect_key')} AS "effectKey"
         FROM ${this.keys} k
         WHERE k.scope = $1 AND k.status <> 'expired' AND ${erased(this.dataKeys)}
         LIMIT ${BATCH}
         FOR UPDATE OF k SKIP LOCKED
       ), buried AS (
         UPDATE ${this.keys} k SET ${TOMBSTONE}, request = NULL, path = NULL, reconcile_after = NULL
         FROM due WHERE ${sameKey('k', 'due')} AND k.scope = $1
       ), forgotten AS (
         DELETE FROM ${this.phases} p USING due WHERE ${isPhaseOf('due', 'p')} AND p.scope = $1
       ), noted AS (
         INSERT INTO ${this.audit} (scope, endpoint, key, key_id, effect_key, action, who, before)
         SELECT scope, endpoint, key, id, "effectKey", 'erase', $2,
                json_build_object('status', status, 'attempt', attempt, 'phase', phase)
         FROM due WHERE open
       )
       SELECT id, status, phase, "effectKey", open FROM due`,
      [scope, who],
    );
    const open = rows
      .filter((row) => row.open)
      .map(({ id, status, phase, effectKey }) => ({ id, status, phase, effectKey }));
    return { buried: rows.length, open };
  }

  /** Removes messages that nobody can read any more, each with an audit entry. */
  async discard(scope: string, who: string): Promise<OpenMessage[]> {
    return this.database.query<OpenMessage>(
      `WITH due AS MATERIALIZED (
         SELECT m.scope, m.id, m.key_id, m.topic, m.dead_at IS NOT NULL AS dead
         FROM ${this.outbox} m
         WHERE m.scope = $1 AND left(m.payload::text, 1) = ' ' AND NOT EXISTS (
           SELECT FROM ${this.dataKeys} d
           WHERE d.scope = $1 AND uuid_send(d.id) = ${dataKeyOf('m.payload')})
         LIMIT ${BATCH}
         FOR UPDATE OF m SKIP LOCKED
       ), discarded AS (
         DELETE FROM ${this.outbox} m USING due WHERE m.scope = $1 AND m.id = due.id
       ), noted AS (
         INSERT INTO ${this.audit} (scope, key_id, message_id, action, who, before)
         SELECT scope, key_id, id, 'erase', $2,
                json_build_object('status', CASE WHEN dead THEN 'dead' ELSE 'queued' END, 'topic', topic)
         FROM due
       )
       SELECT id, topic, dead FROM due`,
      [scope, who],
    );
  }
}
