import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Database } from '../postgres/database.js';
import { milliseconds, nowIf, withDates } from '../postgres/times.js';

export interface NewMessage {
  /** Of the request that adds it; empty outside a request. */
  scope: string;
  id: string;
  topic: string;
  /** JSON text. */
  payload: string | undefined;
  orderingKey: string | null;
  delay: number;
  /** The span that adds it. */
  traceparent: string | undefined;
}

/** A message as it was found in the table. */
export interface StoredMessage {
  scope: string;
  id: string;
  topic: string;
  /** JSON text. */
  payload: string | null;
  orderingKey: string | null;
  attempts: number;
  createdAt: Date;
  traceparent: string | null;
}

export interface StoredDeadLetter extends StoredMessage {
  lastError: string;
  deadAt: Date;
}

/** The right to deliver a message now. */
export interface MessageLease {
  scope: string;
  id: string;
  token: string;
}

/** In SQL: what a StoredMessage is made of. */
export const MESSAGE = `m.scope, m.id, m.topic, m.payload::text AS payload, m.ordering_key AS "orderingKey",
                 m.attempts, m.traceparent, ${milliseconds('m.created_at')} AS "createdAt"`;

/** Leases as the parameters $1 to $3. */
const HELD = 'unnest($1::text[], $2::uuid[], $3::uuid[]) AS h (scope, id, token)';

/** In SQL: two rows are the same message. */
const SAME = (row: string, other: string) =>
  `${row}.scope = ${other}.scope AND ${row}.id = ${other}.id`;

/**
 * Every statement on `idempotency_outbox`. Those that end a delivery check its
 * lease token: a worker that lost its message changes nothing.
 */
@Injectable()
export class OutboxStore {
  private readonly outbox: string;

  constructor(private readonly database: Database) {
    this.outbox = database.table('idempotency_outbox');
  }

  /**
   * In the caller's transaction: rolled back means gone.
   *
   * Transactions that add for one ordering key take turns, from here to their
   * end. Otherwise a message with an earlier position could become visible after
   * a later one has been delivered. The lock is null, hence none, without a key.
   */
  async add(tx: EntityManager, message: NewMessage): Promise<void> {
    await tx.query(
      `WITH turn AS MATERIALIZED (SELECT ${turnOf('$4::text')})
       INSERT INTO ${this.outbox} (scope, id, topic, payload, ordering_key, available_at, traceparent)
       SELECT $6::text, $1::uuid, $2::text, $3::json, $4::text, now() + $5::float8 * interval '1 millisecond', $7::text
       FROM turn`,
      [
        message.id,
        message.topic,
        message.payload ?? null,
        message.orderingKey,
        message.delay,
        message.scope,
        message.traceparent ?? null,
      ],
    );
  }

  /**
   * Claims what is due, oldest first. Rows that another worker is claiming are
   * skipped, not waited for. Of one ordering key only the first message that is
   * still to be delivered can be claimed.
   *
   * That first one is looked up by a join, and not by NOT EXISTS, so that
   * PostgreSQL can remember it: ten thousand messages behind one that fails then
   * cost one look, at each claim.
   *
   * @param topics what this process can deliver; null for everything
   */
  async claim(
    topics: readonly string[] | null,
    token: string,
    lease: number,
    limit: number,
  ): Promise<StoredMessage[]> {
    const rows = await this.database.query<StoredMessage>(
      `WITH due AS (
         SELECT m.scope, m.id
         FROM ${this.outbox} m
         LEFT JOIN LATERAL (
           SELECT f.position
           FROM ${this.outbox} f
           WHERE f.ordering_key = m.ordering_key AND f.dead_at IS NULL
           ORDER BY f.position
           LIMIT 1
         ) first_of_key ON true
         WHERE m.dead_at IS NULL AND m.available_at <= now()
           AND ($1::text[] IS NULL OR m.topic = ANY ($1))
           AND (first_of_key.position < m.position) IS NOT TRUE
         ORDER BY m.available_at, m.position
         LIMIT $4
         FOR UPDATE OF m SKIP LOCKED
       )
       UPDATE ${this.outbox} m
       SET lease_token = $2, attempts = m.attempts + 1,
           available_at = now() + $3::float8 * interval '1 millisecond'
       FROM due
       WHERE ${SAME('m', 'due')}
       RETURNING ${MESSAGE}`,
      [topics, token, lease, limit],
    );
    return rows.map((row) => withDates(row, 'createdAt'));
  }

  /**
   * Renews the leases of this process in one statement and returns those that it
   * has lost. A row that is locked is left
   * alone: its delivery is being noted, and waiting for it could deadlock.
   */
  async renew(leases: readonly MessageLease[], lease: number): Promise<MessageLease[]> {
    return this.database.query<MessageLease>(
      `WITH held AS (
         SELECT * FROM ${HELD}
       ), free AS (
         SELECT m.scope, m.id
         FROM held h JOIN ${this.outbox} m ON ${SAME('m', 'h')} AND m.lease_token = h.token
         FOR UPDATE OF m SKIP LOCKED
       ), renewed AS (
         UPDATE ${this.outbox} m
         SET available_at = now() + $4::float8 * interval '1 millisecond'
         FROM free
         WHERE ${SAME('m', 'free')}
       )
       SELECT h.scope, h.id, h.token
       FROM held h LEFT JOIN ${this.outbox} m ON ${SAME('m', 'h')} AND m.lease_token = h.token
       WHERE m.id IS NULL`,
      [...held(leases), lease],
    );
  }

  /** Returns the ids of those that were still ours; the others belong to another worker by now. */
  async delivered(leases: readonly MessageLease[]): Promise<Set<string>> {
    const rows = await this.database.query<{ id: string }>(
      `DELETE FROM ${this.outbox} m
       USING ${HELD}
       WHERE ${SAME('m', 'h')} AND m.lease_token = h.token
       RETURNING m.id`,
      held(leases),
    );
    return new Set(rows.map((row) => row.id));
  }

  /**
   * Tries again after a pause, or never: then it is a dead letter. False: it
   * belongs to another worker by now.
   */
  async failed(
    { scope, id, token }: MessageLease,
    error: string,
    pause: number | null,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.outbox}
       SET lease_token = NULL, last_error = $4,
           available_at = now() + coalesce($5::float8, 0) * interval '1 millisecond',
           dead_at = ${nowIf('$5::float8 IS NULL')}
       WHERE scope = $1 AND id = $2 AND lease_token = $3
       RETURNING id`,
      [scope, id, token, error, pause],
    );
    return rows.length === 1;
  }

  /** Gives messages back that were not delivered for no fault of their own, so it counts as no attempt. */
  async release(leases: readonly MessageLease[]): Promise<void> {
    await this.database.query(
      `UPDATE ${this.outbox} m
       SET lease_token = NULL, available_at = now(), attempts = m.attempts - 1
       FROM ${HELD}
       WHERE ${SAME('m', 'h')} AND m.lease_token = h.token`,
      held(leases),
    );
  }

  /** The same for a claim whose reply was lost: nobody knows which messages it had. */
  async releaseClaim(token: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.outbox}
       SET lease_token = NULL, available_at = now(), attempts = attempts - 1
       WHERE lease_token = $1`,
      [token],
    );
  }

  /** Topics whose messages wait although they are due. */
  overdueTopics(
    except: readonly string[],
    since: number,
  ): Promise<{ topic: string; count: number }[]> {
    return this.database.query(
      `SELECT topic, count(*)::int AS count
       FROM ${this.outbox}
       WHERE dead_at IS NULL AND available_at < now() - $2::float8 * interval '1 millisecond'
         AND topic <> ALL ($1::text[])
       GROUP BY topic`,
      [except, since],
    );
  }

  async deadLetters(topic: string | null, limit: number): Promise<StoredDeadLetter[]> {
    const rows = await this.database.query<StoredDeadLetter>(
      `SELECT ${MESSAGE}, m.last_error AS "lastError", ${milliseconds('m.dead_at')} AS "deadAt"
       FROM ${this.outbox} m
       WHERE m.dead_at IS NOT NULL AND ($1::text IS NULL OR m.topic = $1)
       ORDER BY m.dead_at, m.position
       LIMIT $2`,
      [topic, limit],
    );
    return rows.map((row) => withDates(row, 'createdAt', 'deadAt'));
  }

  /**
   * Gives a dead letter another round, under the same id. False: it is none. It
   * gets the last place of its ordering key: at its old one it could be
   * delivered beside a later message that is on its way.
   */
  async requeue(id: string): Promise<boolean> {
    const rows = await this.database.query(
      `WITH letter AS MATERIALIZED (
         SELECT m.scope, m.id, ${turnOf('m.ordering_key')}
         FROM ${this.outbox} m
         WHERE m.id = $1 AND m.dead_at IS NOT NULL
       )
       UPDATE ${this.outbox} m
       SET dead_at = NULL, attempts = 0, available_at = now(), position = DEFAULT
       FROM letter
       WHERE ${SAME('m', 'letter')} AND m.dead_at IS NOT NULL
       RETURNING m.id`,
      [id],
    );
    return rows.length === 1;
  }
}

function held(leases: readonly MessageLease[]): unknown[] {
  return [
    leases.map(({ scope }) => scope),
    leases.map(({ id }) => id),
    leases.map(({ token }) => token),
  ];
}

/** Waits for the turn of an ordering key, and keeps it until the transaction ends. */
function turnOf(orderingKey: string): string {
  return `pg_advisory_xact_lock(hashtextextended('idempotency_outbox ' || ${orderingKey}, 0))`;
}
