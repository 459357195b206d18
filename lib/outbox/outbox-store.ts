import type { EntityManager } from 'typeorm';
import type { Database } from '../keys/database.js';

export interface NewMessage {
  id: string;
  topic: string;
  payload: string | undefined;
  orderingKey: string | null;
  delay: number;
}

/** A message claimed for delivery. */
export interface ClaimedMessage {
  id: string;
  topic: string;
  payload: unknown;
  orderingKey: string | null;
  attempts: number;
  createdAt: Date;
}

/** Every statement on `idempotency_outbox`. Final ones check the lease token: a worker that lost its message changes nothing. */
export class OutboxStore {
  private readonly outbox: string;

  constructor(private readonly database: Database) {
    this.outbox = database.table('idempotency_outbox');
  }

  /** In the caller's transaction: rolled back means gone. */
  async add(tx: EntityManager, message: NewMessage): Promise<void> {
    await tx.query(
      `INSERT INTO ${this.outbox} (id, topic, payload, ordering_key, available_at)
       VALUES ($1, $2, $3::json, $4, now() + $5::float8 * interval '1 millisecond')`,
      [message.id, message.topic, message.payload ?? null, message.orderingKey, message.delay],
    );
  }

  /**
   * Claims what is due, oldest first. Rows that another worker is claiming are
   * skipped, not waited for. Of one ordering key only the first message that is
   * still to be delivered can be claimed.
   *
   * @param topics what this process can deliver; null for everything
   */
  claim(
    topics: readonly string[] | null,
    token: string,
    lease: number,
    batch: number,
  ): Promise<ClaimedMessage[]> {
    return this.database.query<ClaimedMessage>(
      `WITH due AS (
         SELECT m.id
         FROM ${this.outbox} m
         WHERE m.dead_at IS NULL AND m.available_at <= now()
           AND ($1::text[] IS NULL OR m.topic = ANY ($1))
           AND (m.ordering_key IS NULL OR NOT EXISTS (
             SELECT FROM ${this.outbox} earlier
             WHERE earlier.ordering_key = m.ordering_key AND earlier.dead_at IS NULL
               AND earlier.position < m.position
           ))
         ORDER BY m.available_at, m.position
         LIMIT $4
         FOR UPDATE OF m SKIP LOCKED
       )
       UPDATE ${this.outbox} m
       SET lease_token = $2, attempts = m.attempts + 1,
           available_at = now() + $3::float8 * interval '1 millisecond'
       FROM due
       WHERE m.id = due.id
       RETURNING m.id, m.topic, m.payload, m.ordering_key AS "orderingKey", m.attempts,
                 m.created_at AS "createdAt"`,
      [topics, token, lease, batch],
    );
  }

  async renew(ids: readonly string[], token: string, lease: number): Promise<void> {
    await this.database.query(
      `UPDATE ${this.outbox}
       SET available_at = now() + $3::float8 * interval '1 millisecond'
       WHERE id = ANY ($1) AND lease_token = $2 AND dead_at IS NULL`,
      [ids, token, lease],
    );
  }

  /** False: another worker has it by now. */
  async delivered(id: string, token: string): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM ${this.outbox} WHERE id = $1 AND lease_token = $2 RETURNING id`,
      [id, token],
    );
    return rows.length === 1;
  }

  /** Tries again after a pause, or never: then it is a dead letter. */
  async failed(id: string, token: string, error: string, pause: number | null): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.outbox}
       SET lease_token = NULL, last_error = $3,
           available_at = now() + coalesce($4::float8, 0) * interval '1 millisecond',
           dead_at = CASE WHEN $4::float8 IS NULL THEN now() END
       WHERE id = $1 AND lease_token = $2
       RETURNING id`,
      [id, token, error, pause],
    );
    return rows.length === 1;
  }

  deadLetters(limit: number): Promise<(ClaimedMessage & { lastError: string; deadAt: Date })[]> {
    return this.database.query(
      `SELECT id, topic, payload, ordering_key AS "orderingKey", attempts, created_at AS "createdAt",
              last_error AS "lastError", dead_at AS "deadAt"
       FROM ${this.outbox} WHERE dead_at IS NOT NULL ORDER BY dead_at LIMIT $1`,
      [limit],
    );
  }

  /** Gives a dead letter another round, under the same id. False: it is none. */
  async requeue(id: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.outbox} SET dead_at = NULL, attempts = 0, available_at = now(), lease_token = NULL
       WHERE id = $1 AND dead_at IS NOT NULL RETURNING id`,
      [id],
    );
    return rows.length === 1;
  }
}
