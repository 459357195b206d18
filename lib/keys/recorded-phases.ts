import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import type { KeyName } from '../schema/key-name.js';
import type { PhaseRecord } from '../schema/phase-record.js';

/** Reads what earlier attempts recorded, for a takeover. The phases themselves write. */
@Injectable()
export class RecordedPhases {
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.phases = database.table('idempotency_phases');
  }

  /** The phases of a key, in order. */
  async of({ scope, id }: KeyName & { id: string }): Promise<PhaseRecord[]> {
    const rows = await this.database.for({ scope }).query<PhaseRow>(
      `SELECT name, position, kind, state,
              effect_key AS "effectKey",
              in_doubt AS "inDoubt",
              coalesce(key_valid_until <= now(), false) AS "keyForgotten",
              ${milliseconds('started_at')} AS "startedAt",
              request::text AS "request",
              result::text AS "result"
       FROM ${this.phases}
       WHERE scope = $1 AND key_id = $2
       ORDER BY position`,
      [scope, id],
    );
    return rows.map((row) => ({
      ...withDates(row, 'startedAt'),
      request: row.request ?? undefined,
      result: row.result ?? undefined,
    }));
  }
}

interface PhaseRow extends Omit<PhaseRecord, 'request' | 'result'> {
  request: string | null;
  result: string | null;
}
