import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { isPhaseOf } from '../schema/key-name.js';

/** How many phases one statement looks at: a few milliseconds, once in a round of the reaper. */
const STRETCH = 5_000;

interface Place {
  scope: string;
  /** The id of a key. */
  id: string;
}

/** The phases that were looked at, and the keys of those that have none. */
interface Stretch extends Place {
  phases: number;
  scopes: string[];
  ids: string[];
}

const BEGINNING: Place = { scope: '', id: '0' };

/**
 * Phases without a key. The library leaves none behind; a DELETE on the table of
 * keys by somebody else does, because no foreign key takes the phases along. They
 * do no harm, since no other key will ever have their key's id: they take up room.
 */
@Injectable()
export class OrphanedPhasesStore {
  private readonly keys: string;
  private readonly phases: string;
  /** How far the walk has come. Each process walks by itself, from the beginning. */
  private place = BEGINNING;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /**
   * Removes those among the next phases, in the order of the primary key. A phase
   * that can be seen was written after its key: if the key cannot be seen, it is gone.
   */
  async removeNext(): Promise<void> {
    const [stretch] = await this.database.query<Stretch>(
      `SELECT (array_agg(scope ORDER BY scope DESC, id DESC))[1] AS scope,
              (array_agg(id ORDER BY scope DESC, id DESC))[1] AS id,
              count(*)::int AS phases,
              coalesce(array_agg(scope) FILTER (WHERE orphaned), '{}') AS scopes,
              coalesce(array_agg(id) FILTER (WHERE orphaned), '{}') AS ids
       FROM (
         SELECT p.scope, p.key_id AS id, k.id IS NULL AS orphaned
         FROM ${this.phases} p LEFT JOIN ${this.keys} k ON k.scope = p.scope AND k.id = p.key_id
         WHERE (p.scope, p.key_id) > ($1, $2::bigint)
         ORDER BY p.scope, p.key_id
         LIMIT ${STRETCH}
       ) stretch`,
      [this.place.scope, this.place.id],
    );
    const { scope, id, phases, scopes, ids } = stretch!;
    if (ids.length > 0) await this.remove(ids.map((key, at) => ({ id: key, scope: scopes[at]! })));
    this.place = phases === STRETCH ? { scope, id } : BEGINNING;
  }

  private async remove(keys: readonly Place[]): Promise<void> {
    const { scopes } = this.database;
    await scopes.each(keys, (some, scope) =>
      this.database.query(
        `DELETE FROM ${this.phases} p
         USING unnest($1::text[], $2::bigint[]) AS gone (scope, id)
         WHERE ${isPhaseOf('gone')} AND ${scopes.has('p', 3)}`,
        [some.map((key) => key.scope), some.map((key) => key.id), ...scope],
      ),
    );
  }
}
