import { Injectable } from '@nestjs/common';
import { schemaSteps } from '../../migrations/index.js';
import { Database } from '../postgres/database.js';

/** Where the count of unknown keys stops. Beyond it nobody needs the exact number, and it costs time. */
export const MOST_COUNTED = 1_000;

/**
 * How many keys past their retention are looked at. Those whose outcome is
 * unknown are kept, and stand before the others; beyond so many of them, they are
 * what has to be reported.
 */
const MOST_PASSED = 1_000;

/** What a look at the tables finds. Times are in milliseconds. */
export interface StoreHealth {
  /** Tables that do not exist. */
  missing: string[];
  /** A standby, or a role or a database that is set to read only. */
  readOnly: boolean;
  /** Unknown keys that are left to people, up to `MOST_COUNTED`. */
  unknown: number;
  /** How long the first message of the outbox has been due; 0 where none is. */
  outboxLag: number;
  /** For how long a key has been past its retention that the reaper should have taken; 0 where there is none. */
  expiredFor: number;
}

/**
 * The statement of the health check. It follows indexes alone and stops after a
 * fixed number of rows, because probes ask all the time, and most of all while
 * the database is in trouble.
 */
@Injectable()
export class HealthStore {
  private readonly keys: string;
  private readonly outbox: string;
  private readonly tables: string[];

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.outbox = database.table('idempotency_outbox');
    this.tables = schemaSteps.map(({ table }) => database.table(table));
  }

  async look(): Promise<StoreHealth> {
    const [row] = await this.database.query<StoreHealth>(this.statement(), [this.tables]);
    return row!;
  }

  /** For tests too, which ask the database how it would carry it out. */
  statement(): string {
    const since = (time: string) => `(extract(epoch FROM now() - ${time}) * 1000)::float8`;
    return `SELECT
        ARRAY(SELECT t FROM unnest($1::text[]) t WHERE to_regclass(t) IS NULL) AS missing,
        pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "readOnly",
        -- the partial index on reconcile_after
        (SELECT count(*)::int FROM (
           SELECT FROM ${this.keys} WHERE reconcile_after = 'infinity' LIMIT ${MOST_COUNTED}
         ) u) AS unknown,
        -- the partial index on available_at; what is being delivered, or waits for its next try, is due later
        coalesce((SELECT greatest(0, ${since('available_at')}) FROM (
           SELECT available_at FROM ${this.outbox} WHERE dead_at IS NULL
           ORDER BY available_at, position LIMIT 1
         ) m), 0) AS "outboxLag",
        -- the index on expires_at; what runs, or is unknown, is not for the reaper
        coalesce((SELECT ${since('min(expires_at)')} FROM (
           SELECT expires_at, status FROM ${this.keys} WHERE expires_at <= now()
           ORDER BY expires_at LIMIT ${MOST_PASSED}
         ) e WHERE status NOT IN ('in_progress', 'unknown')), 0) AS "expiredFor"`;
  }
}
