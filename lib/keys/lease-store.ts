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
const HELD =
  'unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) AS h (scope, endpoint, key, owner)';

/** In SQL: the attempt of a lease still runs. */
const RUNNING = `${sameKey('k', 'h')} AND k.owner = h.owner AND k.status = 'in_progress'`;

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
    const { scopes } = this.database;
    const rows = await scopes.each(leases, (some, scope) =>
      this.database.for(some).query<{ owner: string }>(
        `WITH held AS (
           SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::float8[])
             AS h (scope, endpoint, key, owner, lease)
         ), free AS (
           SELECT k.scope, k.endpoint, k.key, now() + h.lease * interval '1 millisecond' AS until
           FROM held h JOIN ${this.keys} k ON ${RUNNING}
           WHERE h.lease IS NOT NULL AND ${scopes.has('k', 6)}
           FOR NO KEY UPDATE OF k SKIP LOCKED
         ), renewed AS (
           UPDATE ${this.keys} k
           SET locked_until = free.until
           FROM free
           WHERE ${sameKey('k', 'free')} AND ${scopes.has('k', 6)}
         )
         SELECT h.owner
         FROM held h LEFT JOIN ${this.keys} k ON ${RUNNING} AND ${scopes.has('k', 6)}
         WHERE k.scope IS NULL`,
        [...held(some), some.map(({ lease }) => lease), ...scope],
        'reserved',
      ),
    );
    return rows.map((row) => row.owner);
  }

  /** Ends leases early, at shutdown, so that retries elsewhere need not wait for them to lapse. */
  async letGo(leases: readonly Omit<Lease, 'lease'>[]): Promise<void> {
    const { scopes } = this.database;
    await scopes.each(leases, (some, scope) =>
      this.database.for(some).query(
        `WITH free AS (
           SELECT k.scope, k.endpoint, k.key
           FROM ${HELD} JOIN ${this.keys} k ON ${RUNNING} AND ${scopes.has('k', 5)}
           FOR NO KEY UPDATE OF k SKIP LOCKED
         )
         UPDATE ${this.keys} k SET locked_until = now()
         FROM free WHERE ${sameKey('k', 'free')} AND ${scopes.has('k', 5)}`,
        [...held(some), ...scope],
        'reserved',
      ),
    );
  }

  /** Which of these attempts still run, for all waiting duplicates of a process at once. */
  async stillRunning(attempts: readonly Omit<Lease, 'lease'>[]): Promise<Set<string>> {
    const { scopes } = this.database;
    const rows = await scopes.each(attempts, (some, scope) =>
      this.database.for(some).query<{ owner: string }>(
        `SELECT k.owner
         FROM ${HELD} JOIN ${this.keys} k ON ${RUNNING} AND ${scopes.has('k', 5)}
         WHERE k.locked_until > now()`,
        [...held(some), ...scope],
      ),
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
