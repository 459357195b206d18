import { Injectable } from '@nestjs/common';
import { ColumnCiphers } from '../encryption/column-cipher.js';
import { MESSAGE as SEALED } from '../encryption/columns.js';
import { Database } from '../postgres/database.js';
import { nowIf, withDates } from '../postgres/times.js';
import { claimFoundSql, claimSql, findDueSql } from './claim-statements.js';
import { openMessage, sameMessage, type StoredMessage } from './message-statements.js';

/** The right to deliver a message now. */
export interface MessageLease {
  scope: string;
  id: string;
  token: string;
}

/** Leases as the parameters $1 to $3. */
const HELD = 'unnest($1::text[], $2::uuid[], $3::uuid[]) AS h (scope, id, token)';

/** In SQL: the lease still holds. */
const OURS = `${sameMessage('m', 'h')} AND m.lease_token = h.token`;

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
   * Claims what is due, oldest first.
   *
   * @param topics what this process can deliver; null for everything
   */
  async claim(
    topics: readonly string[] | null,
    token: string,
    lease: number,
    limit: number,
  ): Promise<StoredMessage[]> {
    const { database, outbox } = this;
    const rows = await database.scopes.claim(
      limit,
      () => database.query<{ scope: string; id: string }>(findDueSql(outbox), [topics, limit]),
      (most, scope, found) =>
        database.query<StoredMessage>(found ? claimFoundSql(outbox) : claimSql(outbox), [
          ...[topics, token, lease, most, ...scope],
          ...(found ? [found.map(({ id }) => id)] : []),
        ]),
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
    const { scopes } = this.database;
    return scopes.each(leases, (some, scope) =>
      this.database.query<MessageLease>(
        `WITH held AS (
           SELECT * FROM ${HELD}
         ), free AS (
           SELECT m.scope, m.id
           FROM held h JOIN ${this.outbox} m ON ${OURS}
           WHERE ${scopes.has('m', 5)}
           FOR UPDATE OF m SKIP LOCKED
         ), renewed AS (
           UPDATE ${this.outbox} m
           SET available_at = now() + $4::float8 * interval '1 millisecond'
           FROM free
           WHERE ${sameMessage('m', 'free')} AND ${scopes.has('m', 5)}
         )
         SELECT h.scope, h.id, h.token
         FROM held h LEFT JOIN ${this.outbox} m ON ${OURS} AND ${scopes.has('m', 5)}
         WHERE m.id IS NULL`,
        [...held(some), lease, ...scope],
      ),
    );
  }

  /** Returns the ids of those whose lease still held; another worker has the others. */
  async delivered(leases: readonly MessageLease[]): Promise<Set<string>> {
    const { scopes } = this.database;
    const rows = await scopes.each(leases, (some, scope) =>
      this.database.query<{ id: string }>(
        `DELETE FROM ${this.outbox} m
         USING ${HELD}
         WHERE ${OURS} AND ${scopes.has('m', 4)}
         RETURNING m.id`,
        [...held(some), ...scope],
      ),
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
    const { scopes } = this.database;
    await scopes.each(leases, (some, scope) =>
      this.database.query(
        `UPDATE ${this.outbox} m
         SET lease_token = NULL, available_at = now(), attempts = m.attempts - 1
         FROM ${HELD}
         WHERE ${OURS} AND ${scopes.has('m', 4)}`,
        [...held(some), ...scope],
      ),
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
