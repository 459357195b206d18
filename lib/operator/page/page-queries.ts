import { Injectable } from '@nestjs/common';
import { Database } from '../../postgres/database.js';
import { milliseconds } from '../../postgres/times.js';
import type { KeyStatus } from '../../schema/key-status.js';
import { phaseInDoubt } from '../../schema/phase-in-doubt.js';
import type { KeySummary } from '../key-report.js';
import type { KeySearch } from '../key-search.js';
import { SUMMARY, summaryOf, type SummaryRow } from '../operator-queries.js';
import type { Counted } from './format.js';

/** How many of the newest keys the overview is about: enough for a trend, and read in some milliseconds. */
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

/** An unknown key, with what is urgent about it. */
export interface UnknownKey extends KeySummary {
  /** Until when the other system knows the effect key of the call in doubt; null is for ever. */
  keyValidUntil: Date | null;
  /** Where this page of the list ends. */
  cursor: string;
}

/**
 * Unknown keys, in two parts of the partial index on `reconcile_after`: those
 * that are left to people are at its end, and those that a reconciler is to ask
 * about are before it. The index has no status in its predicate: that would make
 * the end of every request touch all indexes.
 */
const LEFT_TO_PEOPLE = `k.reconcile_after = 'infinity' AND k.status = 'unknown'`;
const ASKED_ABOUT = `k.reconcile_after < 'infinity' AND k.status = 'unknown'`;

/** What the list of unknown keys is narrowed by, as its first five parameters. */
const MATCHES = `($1::text IS NULL OR k.scope = $1) AND ($2::text IS NULL OR k.key = $2)
            AND ($3::text IS NULL OR k.route = $3)
            AND ($4::float8 IS NULL OR k.created_at <= now() - $4 * interval '1 millisecond')
            AND ($5::float8 IS NULL OR k.created_at >= now() - $5 * interval '1 millisecond')`;

/**
 * The reads of the operator page. None of them reads a whole table: each follows
 * an index, or stops after a fixed number of rows.
 */
@Injectable()
export class PageQueries {
  private readonly keys: string;
  private readonly phases: string;
  private readonly outbox: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
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
   * Unknown keys, those left to people first, oldest first. Served by the partial
   * index on `reconcile_after`. The sort is over at most `COUNTED` keys of each part:
   * with more than that left to people, the list is about the first ones of the index.
   * @param after the `cursor` of the last key of the page before
   */
  async unknown(
    { scope, key, route, olderThan, youngerThan }: Filter,
    after: string | undefined,
    limit: number,
  ): Promise<UnknownKey[]> {
    const [part = null, epoch = null, id = null] = after?.split('~') ?? [];
    const rows = await this.database.query<UnknownRow>(
      `SELECT ${SUMMARY}, d."keyValidUntil",
              k.part || '~' || extract(epoch FROM k.created_at) || '~' || k.id AS cursor
       FROM (
         SELECT * FROM (
           (SELECT k.*, 0 AS part FROM ${this.keys} k WHERE ${LEFT_TO_PEOPLE} AND ${MATCHES} LIMIT ${COUNTED})
           UNION ALL
           (SELECT k.*, 1 AS part FROM ${this.keys} k WHERE ${ASKED_ABOUT} AND ${MATCHES}
            ORDER BY k.reconcile_after LIMIT ${COUNTED})
         ) k
         WHERE ($6::int IS NULL
                OR (k.part, extract(epoch FROM k.created_at), k.id::text) > ($6, $7::numeric, $8::text))
         ORDER BY k.part, k.created_at, k.id::text
         LIMIT $9
       ) k
       LEFT JOIN LATERAL (${phaseInDoubt(this.phases)}) d ON true
       ORDER BY k.part, k.created_at, k.id::text`,
      [scope, key, route, olderThan, youngerThan, part, epoch, id, limit],
    );
    return rows.map((row) => {
      const { keyValidUntil, ...summary } = row;
      return {
        ...summaryOf(summary),
        keyValidUntil: keyValidUntil === null ? null : new Date(keyValidUntil),
      };
    });
  }

  /**
   * What waits in the outbox. Served by the partial index on `available_at`,
   * which has no dead letters in it.
   * @returns how long the first message that is due has been waiting, in milliseconds
   */
  async outboxLag(): Promise<{ waiting: Counted; lag: number }> {
    const [row] = await this.database.query<{ waiting: number; lag: number | null }>(
      `SELECT (SELECT count(*)::int FROM (
                 SELECT FROM ${this.outbox} WHERE dead_at IS NULL LIMIT ${COUNTED + 1}
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
       FROM (SELECT FROM ${this.outbox} WHERE dead_at IS NOT NULL LIMIT ${COUNTED + 1}) m`,
      [],
    );
    return countedFrom(row!.count);
  }

  private bounded(condition: string): string {
    return `SELECT count(*)::int FROM (SELECT FROM ${this.keys} k WHERE ${condition} LIMIT ${COUNTED + 1}) counted`;
  }
}

/** What the list of unknown keys can be narrowed by; null is for "any". */
export type Filter = Pick<KeySearch, 'scope' | 'key' | 'route' | 'olderThan' | 'youngerThan'>;

interface UnknownRow extends SummaryRow {
  keyValidUntil: number | null;
  cursor: string;
}

function countedFrom(count: number): Counted {
  return { count: Math.min(count, COUNTED), more: count > COUNTED };
}
