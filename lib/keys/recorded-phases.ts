import { Injectable } from '@nestjs/common';
import type { ColumnCipher } from '../encryption/column-cipher.js';
import { PHASE } from '../encryption/columns.js';
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

  /** The phases of a key, in order. Throws if one cannot be read. */
  async of(key: KeyName & { id: string }, cipher: ColumnCipher): Promise<PhaseRecord[]> {
    const rows = await this.select(key);
    return rows.map((row) => {
      const phase = { keyId: key.id, name: row.name };
      return {
        ...row,
        request: cipher.openJson(row.request, PHASE.request, phase),
        result: cipher.openJson(row.result, PHASE.result, phase),
      };
    });
  }

  /** The same for those who need the states alone. */
  async statesOf(key: KeyName & { id: string }): Promise<PhaseRecord[]> {
    const rows = await this.select(key);
    return rows.map((row) => ({ ...row, request: undefined, result: undefined }));
  }

  private async select({ scope, id }: KeyName & { id: string }): Promise<PhaseRow[]> {
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
    return rows.map((row) => withDates(row, 'startedAt'));
  }
}

interface PhaseRow extends Omit<PhaseRecord, 'request' | 'result'> {
  request: string | null;
  result: string | null;
}
