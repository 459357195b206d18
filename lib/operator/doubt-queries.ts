import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { withDates } from '../postgres/times.js';
import { isPhaseOf } from '../schema/key-name.js';
import { DOUBT } from '../schema/phase-in-doubt.js';

/** The call of a key that was begun and has no outcome. */
export interface Doubt {
  phase: string;
  effectKey: string;
  startedAt: Date;
  /** Until when the other system knows the effect key; null is for ever. */
  keyValidUntil: Date | null;
}

/**
 * Reads the calls in doubt of a page of keys. Apart from the keys, because a
 * distributed table cannot be joined to the rows of such a page one by one.
 */
@Injectable()
export class DoubtQueries {
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.phases = database.table('idempotency_phases');
  }

  /** By the id of the key, where there is one. */
  async of(keys: readonly { scope: string; id: string }[]): Promise<Map<string, Doubt>> {
    if (keys.length === 0) return new Map();
    const rows = await this.database.for(keys).query<Doubt & { id: string }>(
      `SELECT k.id, ${DOUBT}
       FROM unnest($1::text[], $2::bigint[]) AS k (scope, id)
       JOIN ${this.phases} p ON ${isPhaseOf('k')} AND p.state = 'intended'`,
      [keys.map(({ scope }) => scope), keys.map(({ id }) => id)],
    );
    return new Map(rows.map((row) => [row.id, withDates(row, 'startedAt', 'keyValidUntil')]));
  }
}
