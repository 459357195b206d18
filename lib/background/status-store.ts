import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import { sameKey } from '../schema/key-name.js';
import type { KeyStatus } from '../schema/key-status.js';

/** How far a key has come, as its caller may see it. */
export interface KeyProgress {
  id: string;
  status: KeyStatus;
  /** Nothing is left to do. The answer itself is for a retry of the request. */
  done: boolean;
  recoveryPoint: string;
  attempts: number;
  /** How the resumable operation ended, if it has and there is one. */
  outcome:
    | { kind: 'finished'; result: unknown }
    | { kind: 'rejected'; status: number; response: unknown }
    | null;
  createdAt: Date;
  lastRunAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
}

/** The statement of the status route. */
@Injectable()
export class StatusStore {
  private readonly keys: string;
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  async progress(id: string, scope: string): Promise<KeyProgress | undefined> {
    const [row] = await this.database.query<ProgressRow>(
      `SELECT k.id, k.status, k.recovery_point AS "recoveryPoint", k.attempt AS "attempts",
              k.status IN ('performed', 'completed') AS done, o.state, o.result,
              ${milliseconds('k.created_at')} AS "createdAt",
              ${milliseconds('k.last_run_at')} AS "lastRunAt",
              ${milliseconds('k.completed_at')} AS "completedAt",
              ${milliseconds('k.expires_at')} AS "expiresAt"
       FROM ${this.keys} k
       LEFT JOIN ${this.phases} o ON ${sameKey('o', 'k')} AND o.kind = 'operation'
       WHERE k.id = $1 AND k.scope = $2`,
      [id, scope],
    );
    if (!row) return undefined;
    const { state, result, ...progress } = row;
    return {
      ...withDates(progress, 'createdAt', 'lastRunAt', 'completedAt', 'expiresAt'),
      outcome: outcomeOf(state, result),
    };
  }
}

interface ProgressRow extends Omit<KeyProgress, 'outcome'> {
  state: 'finished' | 'rejected' | null;
  result: unknown;
}

function outcomeOf(state: ProgressRow['state'], result: unknown): KeyProgress['outcome'] {
  if (state === null) return null;
  if (state === 'finished') return { kind: 'finished', result };
  const { status, response } = result as { status: number; response: unknown };
  return { kind: 'rejected', status, response };
}
