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
    const [last] = await this.database.query<Place & { full: boolean }>(
      `WITH stretch AS MATERIALIZED (
         SELECT scope, key_id AS id FROM ${this.phases}
         WHERE (scope, key_id) > ($1, $2::bigint)
         ORDER BY scope, key_id
         LIMIT ${STRETCH}
       ), orphans AS (
         SELECT DISTINCT scope, id FROM stretch s
         WHERE NOT EXISTS (SELECT FROM ${this.keys} k WHERE k.scope = s.scope AND k.id = s.id)
       ), removed AS (
         DELETE FROM ${this.phases} p USING orphans WHERE ${isPhaseOf('orphans')}
       )
       SELECT scope, id, (SELECT count(*) FROM stretch) = ${STRETCH} AS full
       FROM stretch
       ORDER BY scope DESC, id DESC
       LIMIT 1`,
      [this.place.scope, this.place.id],
    );
    this.place = last?.full ? last : BEGINNING;
  }
}
