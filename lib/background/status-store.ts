import { Injectable } from '@nestjs/common';
import { ColumnCiphers, type CipherOf } from '../encryption/column-cipher.js';
import { PHASE } from '../encryption/columns.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import { isPhaseOf } from '../schema/key-name.js';
import { fromJson } from '../schema/json.js';
import type { KeyProgress, ProgressMark } from './status-progress.js';

/** The statements of the status route. */
@Injectable()
export class StatusStore {
  private readonly keys: string;
  private readonly phases: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  async progress(id: string, scope: string): Promise<KeyProgress | undefined> {
    const [row] = await this.database
      .for({ scope })
      .query<ProgressRow>(`${this.select(this.keys + ' k')} WHERE k.id = $1 AND k.scope = $2`, [
        id,
        scope,
      ]);
    return row && progressFrom(row, await this.ciphers.readers([row]));
  }

  /** The same for several keys at once. One that cannot be read is missing. */
  async progressOf(keys: readonly { id: string; scope: string }[]): Promise<KeyProgress[]> {
    const rows = await this.database
      .for(keys)
      .query<ProgressRow>(this.select(this.among), columns(keys));
    const cipherOf = await this.ciphers.readers(rows);
    return rows.flatMap((row) => {
      try {
        return [progressFrom(row, cipherOf)];
      } catch (error) {
        if (!(error instanceof UnreadableRecordError)) throw error;
        return [];
      }
    });
  }

  /** What shows whether these keys have made progress; keys that were removed are missing. */
  marks(
    keys: readonly { id: string; scope: string }[],
  ): Promise<(ProgressMark & { id: string })[]> {
    return this.database.for(keys).query(
      `SELECT k.id, k.status, k.recovery_point AS "recoveryPoint", k.attempt AS "attempts"
       FROM ${this.among}`,
      columns(keys),
    );
  }

  private get among(): string {
    return `(SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[])) a (id, scope)
            JOIN ${this.keys} k ON k.id = a.id AND k.scope = a.scope`;
  }

  private select(from: string): string {
    return `SELECT k.id, k.scope, k.status, k.recovery_point AS "recoveryPoint", k.attempt AS "attempts",
                   k.status IN ('performed', 'completed') AS done, o.state, o.name, o.result::text AS result,
                   ${milliseconds('k.created_at')} AS "createdAt",
                   ${milliseconds('k.last_run_at')} AS "lastRunAt",
                   ${milliseconds('k.completed_at')} AS "completedAt",
                   ${milliseconds('k.expires_at')} AS "expiresAt"
            FROM ${from}
            LEFT JOIN ${this.phases} o ON ${isPhaseOf('k', 'o')} AND o.kind = 'operation'`;
  }
}

interface ProgressRow extends Omit<KeyProgress, 'outcome'> {
  scope: string;
  state: 'finished' | 'rejected' | null;
  name: string | null;
  /** JSON text. */
  result: string | null;
}

function columns(keys: readonly { id: string; scope: string }[]): [string[], string[]] {
  return [keys.map(({ id }) => id), keys.map(({ scope }) => scope)];
}

/** Throws if its outcome cannot be read. */
function progressFrom(
  { scope, state, name, result, ...progress }: ProgressRow,
  cipherOf: CipherOf,
): KeyProgress {
  const phase = { keyId: progress.id, name: name ?? '' };
  const json = cipherOf(scope).openJson(result, PHASE.result, phase);
  return {
    ...withDates(progress, 'createdAt', 'lastRunAt', 'completedAt', 'expiresAt'),
    outcome: outcomeOf(state, fromJson(json)),
  };
}

function outcomeOf(state: ProgressRow['state'], result: unknown): KeyProgress['outcome'] {
  if (state === null) return null;
  if (state === 'finished') return { kind: 'finished', result };
  const { status, response } = result as { status: number; response: unknown };
  return { kind: 'rejected', status, response };
}
