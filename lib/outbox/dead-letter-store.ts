import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import { publish } from '../telemetry/publish.js';
import { lockOrderingKey, MESSAGE, type StoredMessage } from './message-statements.js';

export interface StoredDeadLetter extends StoredMessage {
  keyId: string | null;
  lastError: string;
  deadAt: Date;
}

export type LocatedLetter = Pick<StoredMessage, 'scope' | 'id' | 'orderingKey'>;

/** Finds dead letters and requeues them; each requeue leaves an entry in the audit. */
@Injectable()
export class DeadLetterStore {
  private readonly outbox: string;
  private readonly audit: string;

  constructor(private readonly database: Database) {
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
    return rows.map((row) => withDates(row, 'createdAt', 'deadAt'));
  }

  /** Where every other statement finds a dead letter, and whose turn it has to wait for. */
  async locate(id: string): Promise<LocatedLetter | undefined> {
    const [row] = await this.database.query<LocatedLetter>(
      `SELECT m.scope, m.id, m.ordering_key AS "orderingKey" FROM ${this.outbox} m WHERE m.id = $1 AND m.dead_at IS NOT NULL`,
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
    { scope, id, orderingKey }: LocatedLetter,
    { who, why }: { who: string; why: string | null },
  ): Promise<boolean> {
    const rows = await this.database.query<{ topic: string }>(
      `WITH turn AS MATERIALIZED (
         SELECT ${lockOrderingKey('$5::text')}::text AS locked,
                nextval(pg_get_serial_sequence($6, 'position')) AS position
       ), letter AS MATERIALIZED (
         SELECT m.attempts FROM ${this.outbox} m
         WHERE m.scope = $1 AND m.id = $2 AND m.dead_at IS NOT NULL
       ), requeued AS (
         UPDATE ${this.outbox} m
         SET dead_at = NULL, attempts = 0, available_at = now(), position = turn.position
         FROM letter, turn
         WHERE m.scope = $1 AND m.id = $2 AND m.dead_at IS NOT NULL
         RETURNING m.key_id, m.topic, letter.attempts
       )
       INSERT INTO ${this.audit} (scope, key_id, message_id, action, who, why, before, after)
       SELECT $1, key_id, $2, 'requeue', $3, $4,
              json_build_object('status', 'dead', 'topic', topic, 'attempts', attempts),
              json_build_object('status', 'queued', 'topic', topic, 'attempts', 0)
       FROM requeued
       RETURNING before ->> 'topic' AS topic`,
      [scope, id, who, why, orderingKey, this.outbox],
    );
    const [row] = rows;
    if (row) publish('outbox_requeued', () => ({ id, topic: row.topic, who }));
    return row !== undefined;
  }
}
