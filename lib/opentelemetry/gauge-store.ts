import type { Database } from '../postgres/database.js';
import { exactTime, isTime } from '../postgres/times.js';

/** What only the database knows. Ages are in seconds. */
export interface Gauges {
  /** Unknown outcomes that the reconciler asks about. */
  asked: number;
  askedAge: number;
  /** Unknown outcomes that are left to people. */
  left: number;
  leftAge: number;
  operationsDue: number;
  messagesDue: number;
  lag: number;
  deadLetters: number;
}

/** Counts stop here: beyond this the exact number does not matter. */
const MOST = 10_000;

/** The row of the gauges in `idempotency_jobs`. */
const JOB = 'gauges';

/** The statements behind the gauges. */
export class GaugeStore {
  private readonly keys: string;
  private readonly outbox: string;
  private readonly jobs: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.outbox = database.table('idempotency_outbox');
    this.jobs = database.table('idempotency_jobs');
  }

  /**
   * Claims the gauges for this process for `claim` milliseconds. Undefined:
   * another process reads them.
   *
   * @param earlier what this returned last time, so that the owner keeps them
   */
  async claim(claim: number, earlier: string | undefined): Promise<string | undefined> {
    const [row] = await this.database.query<{ claim: string }>(
      `INSERT INTO ${this.jobs} AS j (job, claimed_until)
       VALUES ('${JOB}', now() + $1::float8 * interval '1 millisecond')
       ON CONFLICT (job) DO UPDATE SET claimed_until = excluded.claimed_until
       WHERE j.claimed_until <= now() OR ${isTime('j.claimed_until', 2)}
       RETURNING ${exactTime('claimed_until')} AS claim`,
      [claim, earlier ?? null],
    );
    return row?.claim;
  }

  /** For shutdown: another process need not wait for the claim to lapse. */
  async release(claim: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.jobs} SET claimed_until = now()
       WHERE job = '${JOB}' AND ${isTime('claimed_until', 1)}`,
      [claim],
    );
  }

  async read(): Promise<Gauges> {
    const [row] = await this.database.query<Gauges>(this.sql, [MOST]);
    return row!;
  }

  /**
   * Each part follows a partial index, which contains only rows in a special
   * state, and stops at the bound.
   */
  get sql(): string {
    const age = 'coalesce(extract(epoch FROM now() - min(since)), 0)::float8';
    const unknown = (condition: string) =>
      `(SELECT k.last_run_at AS since FROM ${this.keys} k WHERE ${condition} LIMIT $1)`;
    const asked = unknown(`k.reconcile_after < 'infinity'`);
    const left = unknown(`k.reconcile_after = 'infinity'`);
    return `SELECT asked.*, left_to_people.*, operations.*, messages.*, dead.*
      FROM (SELECT count(*)::int AS asked, ${age} AS "askedAge" FROM ${asked} u) asked,
           (SELECT count(*)::int AS left, ${age} AS "leftAge" FROM ${left} u) left_to_people,
           (SELECT count(*)::int AS "operationsDue"
            FROM (SELECT k.id FROM ${this.keys} k
                  WHERE k.resume_after <= now() AND k.status IN ('failed_retryable', 'pending')
                  LIMIT $1) o) operations,
           (SELECT count(*)::int AS "messagesDue", ${age} AS lag
            FROM (SELECT m.available_at AS since FROM ${this.outbox} m
                  WHERE m.dead_at IS NULL AND m.available_at <= now()
                  ORDER BY m.available_at, m.position
                  LIMIT $1) m) messages,
           (SELECT count(*)::int AS "deadLetters"
            FROM (SELECT m.id FROM ${this.outbox} m WHERE m.dead_at IS NOT NULL LIMIT $1) d) dead`;
  }
}
