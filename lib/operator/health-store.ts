import { Injectable } from '@nestjs/common';
import { schemaSteps } from '../../migrations/index.js';
import { Database } from '../postgres/database.js';

/** Where the count of unknown keys stops. Beyond it nobody needs the exact number, and it costs time. */
export const MOST_COUNTED = 1_000;

/**
 * How many keys past their retention are read. Unknown and held keys are kept and
 * come before the others; unknown ones are reported anyway.
 */
const MOST_PASSED = 1_000;

/** What does not depend on rows. The parameter is the list of tables. */
const SERVER = `
        ARRAY(SELECT t FROM unnest($1::text[]) t WHERE to_regclass(t) IS NULL) AS missing,
        pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "readOnly"`;

/**
 * What the health check reads. Times are in milliseconds. The figures are missing
 * where the role of the process sees single scopes only.
 */
export interface StoreHealth {
  /** Tables that do not exist. */
  missing: string[];
  /** The server is a standby, or the role or the database is read-only. */
  readOnly: boolean;
  /** Unknown keys that are left to people, up to `MOST_COUNTED`. */
  unknown?: number;
  /** How long the first message of the outbox has been due; 0 if none is. */
  outboxLag?: number;
  /**
   * How long a key that the reaper should have removed has been past its
   * retention; 0 if there is none.
   */
  expiredFor?: number;
}

/**
 * The statement of the health check. It only follows indexes and stops after a
 * fixed number of rows, because probes are frequent, above all while the database
 * is overloaded.
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
    const { separatesScopes: blind } = this.database;
    const [row] = await this.database
      .for()
      .query<StoreHealth>(blind ? `SELECT ${SERVER}` : this.statement(), [this.tables]);
    return row!;
  }

  /** Public for tests, which check its plan. */
  statement(): string {
    const since = (time: string) => `(extract(epoch FROM now() - ${time}) * 1000)::float8`;
    return `SELECT
        ${SERVER},
        -- the partial index on reconcile_after
        (SELECT count(*)::int FROM (
           SELECT 1 FROM ${this.keys} WHERE reconcile_after = 'infinity' LIMIT ${MOST_COUNTED}
         ) u) AS unknown,
        -- the partial index on available_at; what is being delivered, or waits for its next try, is due later
        coalesce((SELECT greatest(0, ${since('available_at')}) FROM (
           SELECT available_at FROM ${this.outbox} WHERE dead_at IS NULL
           ORDER BY available_at, position LIMIT 1
         ) m), 0) AS "outboxLag",
        -- the index on expires_at; what runs, is unknown or is held is not for the reaper
        coalesce((SELECT ${since('min(expires_at)')} FROM (
           SELECT expires_at, status, held_at FROM ${this.keys} WHERE expires_at <= now()
           ORDER BY expires_at LIMIT ${MOST_PASSED}
         ) e WHERE status NOT IN ('in_progress', 'unknown') AND held_at IS NULL), 0) AS "expiredFor"`;
  }
}
