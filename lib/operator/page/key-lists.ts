import type { IdempotencyOperator } from '../idempotency-operator.js';
import type { KeyQuery, KeySummary } from '../key-report.js';
import { searchOf } from '../key-search.js';
import { isOfUnknown } from './key-filter.js';
import type { UnknownKey, UnknownQueries } from './unknown-queries.js';

/**
 * How many keys one request reads if no index helps: about a second. The person
 * continues from there, or narrows the search.
 */
const WALK = 200_000;

/** A page of keys, with where the next one begins. */
export interface KeyList {
  keys: KeySummary[];
  /** Set if all of them are unknown, with what is urgent about them. */
  unknown: UnknownKey[] | undefined;
  next: string | undefined;
  /** There may be more, although this page is not full: the search stopped early. */
  unfinished: boolean;
}

/** Lists of keys, each read by the index that fits it. */
export class KeyLists {
  constructor(
    private readonly operator: IdempotencyOperator,
    private readonly queries: UnknownQueries,
  ) {}

  async page(query: KeyQuery, after: string | undefined, limit: number): Promise<KeyList> {
    if (isOfUnknown(query)) return this.unknown(query, after, limit);
    const { keys, next } = await this.operator.find({
      ...query,
      limit,
      walk: WALK,
      ...(after !== undefined && { after }),
    });
    return listOf(keys, undefined, next, limit);
  }

  private async unknown(
    query: KeyQuery,
    after: string | undefined,
    limit: number,
  ): Promise<KeyList> {
    const { keys, next } = await this.queries.page(searchOf(query), after, limit, WALK);
    return listOf(keys, keys, next, limit);
  }
}

function listOf(
  keys: KeySummary[],
  unknown: UnknownKey[] | undefined,
  next: string | undefined,
  limit: number,
): KeyList {
  return { keys, unknown, next, unfinished: next !== undefined && keys.length < limit };
}
