import { Injectable } from '@nestjs/common';
import { ColumnCiphers } from '../encryption/column-cipher.js';
import { AUDIT, MESSAGE as SEALED } from '../encryption/columns.js';
import { shown } from '../encryption/shown.js';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import { publish } from '../telemetry/publish.js';
import { lockOrderingKey, MESSAGE, openMessage, type StoredMessage } from './message-statements.js';

export interface StoredDeadLetter extends StoredMessage {
  keyId: string | null;
  lastError: string;
  deadAt: Date;
}

/** A dead letter as it was when somebody decided about it. */
export interface SeenLetter {
  scope: string;
  id: string;
  keyId: string | null;
  topic: string;
  attempts: number;
  /** Whose turn it has to wait for. */
  orderingKey: string | null;
}

/** Finds dead letters and requeues them; each requeue leaves an entry in the audit. */
@Injectable()
export class DeadLetterStore {
  private readonly outbox: string;
  private readonly audit: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.outbox = database.table('idempotency_outbox');
    this.audit = database.table('idempotency_audit');
  }

  async find(
    topic: string | null,
    ids: readonly string[] | null,
    limit: number,
  ): Promise<StoredDeadLetter[]> {
    const rows = await this.database.query<StoredDeadLetter>(
      `SELECT ${MESSAGE}, m.key_id AS "keyId", m.last_error AS "lastError",
              ${milliseconds('m.dead_at')} AS "deadAt"
       FROM ${this.outbox} m
       WHERE m.dead_at IS NOT NULL AND ($1::text IS NULL OR m.topic = $1)
         AND ($2::uuid[] IS NULL OR m.id = ANY ($2))
       ORDER BY m.dead_at, m.position
       LIMIT $3`,
      [topic, ids, limit],
    );
    const cipherOf = await this.ciphers.readers(rows);
    return rows.map((row) => {
      const cipher = cipherOf(row.scope);
      const lastError = shown(() => cipher.openText(row.lastError, SEALED.lastError, row) ?? '');
      return { ...openMessage(withDates(row, 'createdAt', 'deadAt'), cipher), lastError };
    });
  }

  /** What a decision about a dead letter is based on, with the scope by which statements find it. */
  async seen(id: string): Promise<SeenLetter | undefined> {
    const [row] = await this.database.query<SeenLetter>(
      `SELECT m.scope, m.id, m.key_id AS "keyId", m.topic, m.attempts, m.ordering_key AS "orderingKey"
       FROM ${this.outbox} m WHERE m.id = $1 AND m.dead_at IS NOT NULL`,
      [id],
    );
    return row;
  }

  /**
   * Gives a dead letter another round of deliveries, under the same id. False: it
   * is not a dead letter any more. It goes to the end of its ordering key: at its
   * old position it could be delivered at the same time as a later message.
   */
  async requeue(
    { scope, id, keyId, topic, attempts, orderingKey }: SeenLetter,
    { who, why }: { who: string; why: string | null },
  ): Promise<boolean> {
    const entry = { keyId, messageId: id, action: 'requeue' };
    const cipher = await this.ciphers.of(scope);
    const state = (status: string, count: number) =>
      JSON.stringify({ status, topic, attempts: count });
    const rows = await this.database.query(
      `WITH turn AS MATERIALIZED (
         SELECT ${lockOrderingKey('$8::text')}::text AS locked,
                nextval(pg_get_serial_sequence($9, 'position')) AS position
       ), requeued AS (
         UPDATE ${this.outbox} m
         SET dead_at = NULL, attempts = 0, available_at = now(), position = turn.position
         FROM turn
         WHERE m.scope = $1 AND m.id = $2 AND m.dead_at IS NOT NULL AND m.attempts = $7
         RETURNING m.key_id
       )
       INSERT INTO ${this.audit} (scope, key_id, message_id, action, who, why, before, after)
       SELECT $1, key_id, $2, 'requeue', $3, $4, $5::json, $6::json
       FROM requeued
       RETURNING id`,
      [
        scope,
        id,
        who,
        cipher.text(why, AUDIT.why, entry),
        cipher.json(state('dead', attempts), AUDIT.before, entry),
        cipher.json(state('queued', 0), AUDIT.after, entry),
        attempts,
        orderingKey,
        this.outbox,
      ],
    );
    if (rows.length === 0) return false;
    publish('outbox_requeued', () => ({ id, topic, who }));
    return true;
  }
}
