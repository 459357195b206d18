import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { nameColumns, sameKey, type KeyName } from '../schema/key-name.js';

/** The right to run a key, as held by an attempt of this process. */
export interface Lease extends KeyName {
  owner: string;
  /** In milliseconds. */
  lease: number;
}

/** Leases as the parameters $1 to $4. */
const HELD = 'unnest($1::text[], $2::text[], $3::text[], $4::uuid[])';

/** Renews, releases and reads the leases of a process, all of them in one statement. */
@Injectable()
export class LeaseStore {
  private readonly keys: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
  }

  /**
   * Renews leases and returns the owners of those that are lost. A row that one
   * of our own phases has locked is skipped: the phase renews its lease itself.
   * NO KEY: a row that a phase only references, from a table of the application,
   * is not skipped, or the lease would lapse while the phase runs.
   *
   * Without a length, a lease is read and not renewed.
   */
  async renew(
    leases: readonly (Omit<Lease, 'lease'> & { lease: number | null })[],
  ): Promise<string[]> {
    const rows = await this.database.for(leases).query<{ owner: string }>(
      `WITH held AS (
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::float8[])
           AS h (scope, endpoint, key, owner, lease)
       ), free AS (
         SELECT k.scope, k.endpoint, k.key, h.lease
         FROM held h JOIN ${this.keys} k ON ${sameKey('k', 'h')} AND k.owner = h.owner AND k.status = 'in_progress'
         WHERE h.lease IS NOT NULL
         FOR NO KEY UPDATE OF k SKIP LOCKED
       ), renewed AS (
         UPDATE ${this.keys} k
         SET locked_until = now() + free.lease * interval '1 millisecond'
         FROM free
         WHERE ${sameKey('k', 'free')}
       )
       SELECT h.owner
       FROM held h
       LEFT JOIN ${this.keys} k ON ${sameKey('k', 'h')} AND k.owner = h.owner AND k.status = 'in_progress'
       WHERE k.scope IS NULL`,
      [...held(leases), leases.map(({ lease }) => lease)],
      'reserved',
    );
    return rows.map((row) => row.owner);
  }

  /** Ends leases early, at shutdown, so that retries elsewhere need not wait for them to lapse. */
  async letGo(leases: readonly Omit<Lease, 'lease'>[]): Promise<void> {
    await this.database.for(leases).query(
      `WITH free AS (
         SELECT k.scope, k.endpoint, k.key
         FROM ${HELD} AS h (scope, endpoint, key, owner)
         JOIN ${this.keys} k ON ${sameKey('k', 'h')} AND k.owner = h.owner AND k.status = 'in_progress'
         FOR NO KEY UPDATE OF k SKIP LOCKED
       )
       UPDATE ${this.keys} k SET locked_until = now() FROM free WHERE ${sameKey('k', 'free')}`,
      held(leases),
      'reserved',
    );
  }

  /** Which of these attempts still run, for all waiting duplicates of a process at once. */
  async stillRunning(attempts: readonly Omit<Lease, 'lease'>[]): Promise<Set<string>> {
    const rows = await this.database.for(attempts).query<{ owner: string }>(
      `SELECT k.owner
       FROM ${HELD} AS a (scope, endpoint, key, owner)
       JOIN ${this.keys} k ON ${sameKey('k', 'a')} AND k.owner = a.owner
       WHERE k.status = 'in_progress' AND k.locked_until > now()`,
      held(attempts),
    );
    return new Set(rows.map((row) => row.owner));
  }

  /** Makes the lease of a dead attempt lapse now, for the testing kit. */
  async lapse(id: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.keys} SET locked_until = now() WHERE id = $1 AND status = 'in_progress'`,
      [id],
    );
  }
}

function held(leases: readonly Omit<Lease, 'lease'>[]): unknown[] {
  return [...nameColumns(leases), leases.map(({ owner }) => owner)];
}
