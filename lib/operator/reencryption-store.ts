import { Injectable } from '@nestjs/common';
import { isPlainJson, isPlainText } from '../encryption/marks.js';
import { ANSWER_VERSION, type StoredAnswer } from '../keys/stored-answer.js';
import { Database } from '../postgres/database.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { isPhaseOf, type KeyName } from '../schema/key-name.js';

/** The columns of a key with users' data, as they are stored. */
export interface KeyColumns extends KeyName, StoredAnswer {
  id: string;
  fingerprint: Buffer;
  path: string | null;
  /** JSON text. */
  request: string | null;
  input: string | null;
}

/** Those of a phase. */
export interface PhaseColumns {
  scope: string;
  keyId: string;
  name: string;
  request: string | null;
  result: string | null;
}

export interface MessageColumns {
  scope: string;
  id: string;
  payload: string | null;
  lastError: string | null;
}

export interface AuditColumns {
  scope: string;
  id: string;
  keyId: string | null;
  messageId: string | null;
  action: string;
  why: string | null;
  before: string | null;
  after: string | null;
}

/** How many keys one statement looks at: well within the store's time-out. */
const STRETCH = 2_000;

/** How many rows one statement returns. Answers may be large. */
const PAGE = 100;

/** A place in the order of a table's primary key. */
export type Place = { scope: string; id: string } | null;

/**
 * Finds values that are not sealed, and replaces them. Each change names what was
 * read: a row that has changed since, or is locked, is left for the next run.
 */
@Injectable()
export class ReencryptionStore {
  private readonly keys: string;
  private readonly phases: string;
  private readonly outbox: string;
  private readonly audit: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
    this.outbox = database.table('idempotency_outbox');
    this.audit = database.table('idempotency_audit');
  }

  /** The last id of the next keys; undefined at the end. */
  async endOfStretch(after: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ last: string | null }>(
      `SELECT max(id) AS last FROM (SELECT id FROM ${this.keys} WHERE id > $1 ORDER BY id LIMIT ${STRETCH}) k`,
      [after],
    );
    return row?.last ?? undefined;
  }

  plainKeys(after: string, last: string): Promise<KeyColumns[]> {
    return this.database.query(
      `SELECT k.id, k.scope, k.endpoint, k.key, k.fingerprint, k.path, k.request::text AS request,
              k.input::text AS input, k.response_status AS "responseStatus",
              k.response_headers AS "responseHeaders", k.response_body AS "responseBody",
              k.response_version AS "responseVersion"
       FROM ${this.keys} k
       WHERE k.id > $1 AND k.id <= $2
         AND (octet_length(k.fingerprint) = 32 OR k.response_version = ${ANSWER_VERSION.plain}
           OR ${isPlainText('k.path')} OR ${isPlainJson('k.request')} OR ${isPlainJson('k.input')})
       ORDER BY k.id LIMIT ${PAGE}`,
      [after, last],
    );
  }

  plainPhases(after: string, last: string): Promise<PhaseColumns[]> {
    return this.database.query(
      `SELECT p.scope, p.key_id AS "keyId", p.name, p.request::text AS request, p.result::text AS result
       FROM ${this.keys} k JOIN ${this.phases} p ON ${isPhaseOf('k', 'p')}
       WHERE k.id > $1 AND k.id <= $2 AND (${isPlainJson('p.request')} OR ${isPlainJson('p.result')})`,
      [after, last],
    );
  }

  plainMessages(after: Place): Promise<MessageColumns[]> {
    return this.database.query(
      `SELECT m.scope, m.id, m.payload::text AS payload, m.last_error AS "lastError"
       FROM ${this.outbox} m
       WHERE ($1::text IS NULL OR (m.scope, m.id) > ($1, $2::uuid))
         AND (${isPlainJson('m.payload')} OR ${isPlainText('m.last_error')})
       ORDER BY m.scope, m.id LIMIT ${PAGE}`,
      [after?.scope ?? null, after?.id ?? null],
    );
  }

  plainEntries(after: Place): Promise<AuditColumns[]> {
    return this.database.query(
      `SELECT a.scope, a.id, a.key_id AS "keyId", a.message_id AS "messageId", a.action, a.why,
              a.before::text AS before, a.after::text AS after
       FROM ${this.audit} a
       WHERE ($1::text IS NULL OR (a.scope, a.id) > ($1, $2::bigint)) AND a.action <> 'erase'
         AND (${isPlainText('a.why')} OR ${isPlainJson('a.before')} OR ${isPlainJson('a.after')})
       ORDER BY a.scope, a.id LIMIT ${PAGE}`,
      [after?.scope ?? null, after?.id ?? null],
    );
  }

  replaceKey(was: KeyColumns, now: KeyColumns): Promise<boolean> {
    return this.changed(
      `UPDATE ${this.keys} k
       SET fingerprint = $4, path = $5, request = $6::json, input = $7::json,
           response_headers = $8::jsonb, response_body = $9, response_version = $10
       WHERE ${BOUNDED_LOCK_WAIT} AND k.scope = $1 AND k.endpoint = $2 AND k.key = $3 AND k.id = $11
         AND k.fingerprint = $12 AND k.path IS NOT DISTINCT FROM $13
         AND k.request::text IS NOT DISTINCT FROM $14 AND k.input::text IS NOT DISTINCT FROM $15
         AND k.response_body IS NOT DISTINCT FROM $16 AND k.response_version IS NOT DISTINCT FROM $17
       RETURNING k.id`,
      [
        ...[now.scope, now.endpoint, now.key, now.fingerprint, now.path, now.request, now.input],
        now.responseHeaders && JSON.stringify(now.responseHeaders),
        ...[now.responseBody, now.responseVersion, was.id, was.fingerprint, was.path, was.request],
        ...[was.input, was.responseBody, was.responseVersion],
      ],
    );
  }

  replacePhase(was: PhaseColumns, now: PhaseColumns): Promise<boolean> {
    return this.changed(
      `UPDATE ${this.phases} p SET request = $4::json, result = $5::json
       WHERE ${BOUNDED_LOCK_WAIT} AND p.scope = $1 AND p.key_id = $2 AND p.name = $3
         AND p.request::text IS NOT DISTINCT FROM $6 AND p.result::text IS NOT DISTINCT FROM $7
       RETURNING p.name`,
      [was.scope, was.keyId, was.name, now.request, now.result, was.request, was.result],
    );
  }

  replaceMessage(was: MessageColumns, now: MessageColumns): Promise<boolean> {
    return this.changed(
      `UPDATE ${this.outbox} m SET payload = $3::json, last_error = $4
       WHERE ${BOUNDED_LOCK_WAIT} AND m.scope = $1 AND m.id = $2
         AND m.payload::text IS NOT DISTINCT FROM $5 AND m.last_error IS NOT DISTINCT FROM $6
       RETURNING m.id`,
      [was.scope, was.id, now.payload, now.lastError, was.payload, was.lastError],
    );
  }

  replaceEntry(was: AuditColumns, now: AuditColumns): Promise<boolean> {
    return this.changed(
      `UPDATE ${this.audit} a SET why = $3, before = $4::json, after = $5::json
       WHERE a.scope = $1 AND a.id = $2 RETURNING a.id`,
      [was.scope, was.id, now.why, now.before, now.after],
    );
  }

  private async changed(sql: string, parameters: unknown[]): Promise<boolean> {
    return (await this.database.query(sql, parameters)).length === 1;
  }
}
