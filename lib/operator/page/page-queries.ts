import { Injectable } from '@nestjs/common';
import { Database } from '../../postgres/database.js';
import { milliseconds } from '../../postgres/times.js';
import type { KeyStatus } from '../../schema/key-status.js';
import type { Counted } from './format.js';

/**
 * How many of the newest keys the overview is about: enough for a trend, and read
 * within milliseconds.
 */
export const NEWEST = 20_000;

/** Where a count stops. Beyond it nobody needs the exact number, and it costs time. */
export const COUNTED = 10_000;

/** The newest keys, by state and by how long ago they were reserved. */
export interface RecentKeys {
  status: KeyStatus;
  /** Whole minutes since the reservation; null beyond an hour. */
  minutes: number | null;
  count: number;
}

/** Both are served by the partial index on `reconcile_after`: see unknown-queries.ts. */
const LEFT_TO_PEOPLE = `k.reconcile_after = 'infinity' AND k.status = 'unknown'`;
const ASKED_ABOUT = `k.reconcile_after < 'infinity' AND k.status = 'unknown'`;

/**
 * What the overview counts. No statement reads a whole table: each follows an
 * index, and stops after a fixed number of rows.
 */
@Injectable()
export class PageQueries {
  private readonly keys: string;
  private readonly outbox: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.outbox = database.table('idempotency_outbox');
  }

  /** Served by the unique index on the id, from its end, for `NEWEST` rows. */
  recent(): Promise<RecentKeys[]> {
    return this.database.query(
      `SELECT status, minutes, count(*)::int AS count
       FROM (
         SELECT status, CASE WHEN created_at > now() - interval '1 hour'
                             THEN floor(extract(epoch FROM now() - created_at) / 60)::int END AS minutes
         FROM (SELECT status, created_at FROM ${this.keys} ORDER BY id DESC LIMIT ${NEWEST}) newest
       ) k
       GROUP BY status, minutes`,
      [],
    );
  }

  /** Served by the partial index on `reconcile_after`. */
  async countUnknown(): Promise<{ leftToPeople: Counted; askedAbout: Counted }> {
    const [row] = await this.database.query<{ people: number; asked: number }>(
      `SELECT (${this.bounded(LEFT_TO_PEOPLE)}) AS people, (${this.bounded(ASKED_ABOUT)}) AS asked`,
      [],
    );
    return { leftToPeople: countedFrom(row!.people), askedAbout: countedFrom(row!.asked) };
  }

  /** What waits for the completer. Served by the partial index on `resume_after`. */
  async countResumable(): Promise<Counted> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT (${this.bounded(`k.resume_after IS NOT NULL AND k.status IN ('pending', 'failed_retryable')`)}) AS count`,
      [],
    );
    return countedFrom(row!.count);
  }

  /**
   * What waits in the outbox. Served by the partial index on `available_at`,
   * which has no dead letters in it.
   * @returns how long the first message that is due has been waiting, in milliseconds
   */
  async outboxLag(): Promise<{ waiting: Counted; lag: number }> {
    const [row] = await this.database.query<{ waiting: number; lag: number | null }>(
      `SELECT (SELECT count(*)::int FROM (
                 SELECT 1 FROM ${this.outbox} WHERE dead_at IS NULL LIMIT ${COUNTED + 1}
               ) m) AS waiting,
              (SELECT ${milliseconds('now()')} - ${milliseconds('available_at')}
               FROM ${this.outbox}
               WHERE dead_at IS NULL AND available_at <= now()
               ORDER BY available_at LIMIT 1) AS lag`,
      [],
    );
    return { waiting: countedFrom(row!.waiting), lag: row!.lag ?? 0 };
  }

  /** Served by the partial index on `dead_at`. */
  async countDeadLetters(): Promise<Counted> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count
       FROM (SELECT 1 FROM ${this.outbox} WHERE dead_at IS NOT NULL LIMIT ${COUNTED + 1}) m`,
      [],
    );
    return countedFrom(row!.count);
  }

  private bounded(condition: string): string {
    return `SELECT count(*)::int FROM (SELECT 1 FROM ${this.keys} k WHERE ${condition} LIMIT ${COUNTED + 1}) counted`;
  }
}

function countedFrom(count: number): Counted {
  return { count: Math.min(count, COUNTED), more: count > COUNTED };
}
