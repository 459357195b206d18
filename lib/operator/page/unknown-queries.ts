import { Injectable } from '@nestjs/common';
import { ColumnCiphers, type CipherOf } from '../../encryption/column-cipher.js';
import { Database } from '../../postgres/database.js';
import { DoubtQueries, type Doubt } from '../doubt-queries.js';
import type { KeySummary } from '../key-report.js';
import type { KeySearch } from '../key-search.js';
import { SUMMARY, summaryOf, type SummaryRow } from '../operator-queries.js';

/** How many unknown keys one statement reads at most, well within the store's time-out. */
const STRETCH = 20_000;

/** An unknown key, with what is urgent about it. */
export interface UnknownKey extends KeySummary {
  /** Until when the other system knows the effect key of the call in doubt; null is for ever. */
  keyValidUntil: Date | null;
}

export interface UnknownPage {
  keys: UnknownKey[];
  /** Where the next page begins; undefined at the end. */
  next: string | undefined;
}

/** What the list of unknown keys is narrowed by; null is for "any". */
export type UnknownFilter = Pick<
  KeySearch,
  'scope' | 'key' | 'route' | 'olderThan' | 'youngerThan'
>;

/** A position in the list: that of the last key that was read. */
interface Place {
  part: keyof typeof PARTS;
  /** `reconcile_after` in seconds since 1970. */
  askedAfter: string;
  id: string;
}

/**
 * The two parts of the list, in the order of the partial index on
 * `reconcile_after` and the id: keys left to people, oldest first; then keys that
 * a reconciler asks about, next question first. The index has no status in its
 * predicate: that would make the end of every request touch all indexes.
 */
const PARTS = {
  people: 'k.reconcile_after IS NOT NULL',
  reconciler: `k.reconcile_after < 'infinity'`,
};

/** In the order of the index, only keys with infinity and a higher id follow. */
const BEGINNING: Place = { part: 'people', askedAfter: 'Infinity', id: '0' };
const SECOND_PART: Place = { part: 'reconciler', askedAfter: '-Infinity', id: '0' };

/** The first five parameters. */
const MATCHES = `($1::text IS NULL OR k.scope = $1) AND ($2::text IS NULL OR k.key = $2)
         AND ($3::text IS NULL OR k.route = $3)
         AND ($4::float8 IS NULL OR k.created_at <= now() - $4 * interval '1 millisecond')
         AND ($5::float8 IS NULL OR k.created_at >= now() - $5 * interval '1 millisecond')`;

/** The list of unknown keys: every one of them can be reached, and a page costs the same everywhere. */
@Injectable()
export class UnknownQueries {
  private readonly keys: string;

  constructor(
    private readonly database: Database,
    private readonly doubts: DoubtQueries,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.keys = database.table('idempotency_keys');
  }

  /**
   * @param after the `next` of the page before
   * @param walk after about how many keys to stop where the filter matches few of them; the
   *   page then has fewer keys than the limit, and a `next`
   */
  async page(
    filter: UnknownFilter,
    after: string | undefined,
    limit: number,
    walk = Infinity,
  ): Promise<UnknownPage> {
    const keys: UnknownKey[] = [];
    let place = after === undefined ? BEGINNING : placeFrom(after);
    for (let walked = 0; walked < walk; walked += STRETCH) {
      const rows = await this.select(filter, place, limit - keys.length);
      const cipherOf = await this.ciphers.readers(rows);
      const doubts = await this.doubts.of(rows);
      keys.push(...rows.map((row) => keyOf(row, cipherOf, doubts.get(row.id))));
      if (keys.length >= limit) return { keys, next: cursorOf(placeOf(place.part, rows.at(-1)!)) };
      const end = await this.endOfStretch(place);
      if (!end && place.part === 'reconciler') return { keys, next: undefined };
      place = end ?? SECOND_PART;
    }
    return { keys, next: cursorOf(place) };
  }

  private select(filter: UnknownFilter, place: Place, limit: number): Promise<UnknownRow[]> {
    const { scope, key, route, olderThan, youngerThan } = filter;
    const [stretch, parameters] = this.stretch(place, 7);
    return this.database.query(
      `SELECT ${SUMMARY}, ${ASKED_AFTER} AS "askedAfter"
       FROM (${stretch} LIMIT ${STRETCH}) k
       WHERE ${MATCHES}
       ORDER BY k.reconcile_after, k.id
       LIMIT $6`,
      [scope, key, route, olderThan, youngerThan, limit, ...parameters],
    );
  }

  /** Where a full stretch ends; undefined where the part ends before that. */
  private async endOfStretch(place: Place): Promise<Place | undefined> {
    const [stretch, parameters] = this.stretch(place, 1);
    const [row] = await this.database.query<PlaceRow>(
      `SELECT k.id, ${ASKED_AFTER} AS "askedAfter"
       FROM (${stretch} OFFSET ${STRETCH - 1} LIMIT 1) k`,
      parameters,
    );
    return row && placeOf(place.part, row);
  }

  /** The unknown keys of a part behind a place, in the order of the index. */
  private stretch({ part, askedAfter, id }: Place, parameter: number): [string, unknown[]] {
    // Both columns at once: a condition on the id alone could be served by the index on the id,
    // which has every key in it.
    const sql = `SELECT * FROM ${this.keys} k
                 WHERE ${PARTS[part]} AND k.status = 'unknown'
                   AND (k.reconcile_after, k.id) > (to_timestamp($${parameter}::float8), $${parameter + 1}::bigint)
                 ORDER BY k.reconcile_after, k.id`;
    return [sql, [askedAfter, id]];
  }
}

const ASKED_AFTER = 'extract(epoch FROM k.reconcile_after)::text';

interface PlaceRow {
  id: string;
  askedAfter: string;
}

interface UnknownRow extends SummaryRow, PlaceRow {}

function keyOf(row: UnknownRow, cipherOf: CipherOf, doubt: Doubt | undefined): UnknownKey {
  return { ...summaryOf(row, cipherOf, doubt), keyValidUntil: doubt?.keyValidUntil ?? null };
}

function placeOf(part: Place['part'], { id, askedAfter }: PlaceRow): Place {
  return { part, id, askedAfter };
}

function cursorOf({ part, askedAfter, id }: Place): string {
  return `${part}~${askedAfter}~${id}`;
}

/** An invalid cursor stands for the first page. */
function placeFrom(cursor: string): Place {
  const [, part, askedAfter, id] =
    /^(people|reconciler)~(-?Infinity|\d{1,12}(?:\.\d{1,9})?)~(\d{1,18})$/.exec(cursor) ?? [];
  if (part === undefined || askedAfter === undefined || id === undefined) return BEGINNING;
  return { part: part as Place['part'], askedAfter, id };
}
