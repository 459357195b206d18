import { Injectable } from '@nestjs/common';
import { ColumnCiphers } from '../encryption/column-cipher.js';
import { MESSAGE as SEALED } from '../encryption/columns.js';
import { Database } from '../postgres/database.js';
import { nowIf, withDates } from '../postgres/times.js';
import { MESSAGE, openMessage, sameMessage, type StoredMessage } from './message-statements.js';

/** The right to deliver a message now. */
export interface MessageLease {
  scope: string;
  id: string;
  token: string;
}

/** Leases as the parameters $1 to $3. */
const HELD = 'unnest($1::text[], $2::uuid[], $3::uuid[]) AS h (scope, id, token)';

/**
 * The worker's statements. Those that end a delivery check its lease token: a
 * worker that lost its message changes nothing.
 */
@Injectable()
export class DeliveryStore {
  private readonly outbox: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.outbox = database.table('idempotency_outbox');
  }

  /**
   * Claims what is due, oldest first. Rows that another worker is claiming are
   * skipped, not waited for. Of one ordering key only the first message that is
   * still to be delivered can be claimed.
   *
   * A join finds that first one, and not NOT EXISTS, so that PostgreSQL can
   * remember it: with ten thousand messages behind one that fails, each claim
   * looks it up once.
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
       WHERE ${sameMessage('m', 'due')}
       RETURNING ${MESSAGE}`,
      [topics, token, lease, limit],
    );
    const cipherOf = await this.ciphers.readers(rows);
    return rows.map((row) => openMessage(withDates(row, 'createdAt'), cipherOf(row.scope)));
  }

  /**
   * Renews the leases of this process in one statement and returns those that it
   * has lost. It skips a locked row: the outcome of its delivery is being
   * recorded, and waiting for it could deadlock.
   */
  async renew(leases: readonly MessageLease[], lease: number): Promise<MessageLease[]> {
    return this.database.query<MessageLease>(
      `WITH held AS (
         SELECT * FROM ${HELD}
       ), free AS (
         SELECT m.scope, m.id
         FROM held h JOIN ${this.outbox} m ON ${sameMessage('m', 'h')} AND m.lease_token = h.token
         FOR UPDATE OF m SKIP LOCKED
       ), renewed AS (
         UPDATE ${this.outbox} m
         SET available_at = now() + $4::float8 * interval '1 millisecond'
         FROM free
         WHERE ${sameMessage('m', 'free')}
       )
       SELECT h.scope, h.id, h.token
       FROM held h LEFT JOIN ${this.outbox} m ON ${sameMessage('m', 'h')} AND m.lease_token = h.token
       WHERE m.id IS NULL`,
      [...held(leases), lease],
    );
  }

  /** Returns the ids of those whose lease still held; another worker has the others. */
  async delivered(leases: readonly MessageLease[]): Promise<Set<string>> {
    const rows = await this.database.query<{ id: string }>(
      `DELETE FROM ${this.outbox} m
       USING ${HELD}
       WHERE ${sameMessage('m', 'h')} AND m.lease_token = h.token
       RETURNING m.id`,
      held(leases),
    );
    return new Set(rows.map((row) => row.id));
  }

  /**
   * Schedules another delivery after the pause; without a pause the message
   * becomes a dead letter. False: another worker has the message.
   */
  async failed(
    { scope, id, token }: MessageLease,
    error: string,
    pause: number | null,
  ): Promise<boolean> {
    const cipher = await this.ciphers.of(scope);
    const rows = await this.database.query(
      `UPDATE ${this.outbox}
       SET lease_token = NULL, last_error = $4,
           available_at = now() + coalesce($5::float8, 0) * interval '1 millisecond',
           dead_at = ${nowIf('$5::float8 IS NULL')}
       WHERE scope = $1 AND id = $2 AND lease_token = $3
       RETURNING id`,
      [scope, id, token, cipher.text(error, SEALED.lastError, { id }), pause],
    );
    return rows.length === 1;
  }

  /** Gives back messages whose delivery was not tried to its end; this does not count as an attempt. */
  async release(leases: readonly MessageLease[]): Promise<void> {
    await this.database.query(
      `UPDATE ${this.outbox} m
       SET lease_token = NULL, available_at = now(), attempts = m.attempts - 1
       FROM ${HELD}
       WHERE ${sameMessage('m', 'h')} AND m.lease_token = h.token`,
      held(leases),
    );
  }

  /** The same for a claim whose reply was lost: the worker does not know which messages it claimed. */
  async releaseClaim(token: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.outbox}
       SET lease_token = NULL, available_at = now(), attempts = attempts - 1
       WHERE lease_token = $1`,
      [token],
    );
  }

  /** Topics with messages that have been due for this long. */
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
}

function held(leases: readonly MessageLease[]): unknown[] {
  return [
    leases.map(({ scope }) => scope),
    leases.map(({ id }) => id),
    leases.map(({ token }) => token),
  ];
}
