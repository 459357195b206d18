import { Injectable } from '@nestjs/common';
import { SEEN, type SeenKey } from '../keys/seen-key.js';
import { Database } from '../postgres/database.js';
import type { ErrorCode } from '../schema/error-code.js';
import { isPhaseOf } from '../schema/key-name.js';
import type { KeyStatus } from '../schema/key-status.js';
import { phaseInDoubt } from '../schema/phase-in-doubt.js';
import type { PhaseState } from '../schema/phase-record.js';
import type { KeyState } from './operator-result.js';

/** A key as it was before a decision, with the phase that the decision is about. */
export interface SeenState extends SeenKey {
  status: KeyStatus;
  lastErrorCode: ErrorCode | null;
  phase: string | null;
  phaseState: PhaseState | null;
  effectKey: string | null;
  /** Somebody holds it. */
  held?: boolean;
}

export interface SeenForDecision extends SeenState {
  /** Its lease has lapsed. */
  lapsed: boolean;
  operation: string | null;
  recoveryPoint: string;
}

const COLUMNS = `${SEEN}, k.last_error_code AS "lastErrorCode", k.operation,
  k.recovery_point AS "recoveryPoint", k.held_at IS NOT NULL AS held,
  k.locked_until <= now() AS lapsed`;

/** Reads the state that a decision is based on. */
@Injectable()
export class ResolutionQueries {
  private readonly keys: string;
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /** A key with its phase in doubt, if there is one. */
  async key(id: string): Promise<SeenForDecision | undefined> {
    const [row] = await this.database.query<SeenForDecision>(
      `SELECT ${COLUMNS}, p.phase, CASE WHEN p.phase IS NOT NULL THEN 'intended' END AS "phaseState", p."effectKey"
       FROM ${this.keys} k LEFT JOIN LATERAL (${phaseInDoubt(this.phases)}) p ON true
       WHERE k.id = $1`,
      [id],
    );
    return row;
  }

  /** A foreign call with its key. */
  async effect(
    effectKey: string,
  ): Promise<(SeenForDecision & { phase: string; phaseState: PhaseState }) | undefined> {
    const [row] = await this.database.query<
      SeenForDecision & { phase: string; phaseState: PhaseState }
    >(
      `SELECT ${COLUMNS}, p.name AS phase, p.state AS "phaseState", p.effect_key AS "effectKey"
       FROM ${this.phases} p JOIN ${this.keys} k ON ${isPhaseOf('k')}
       WHERE p.effect_key = $1`,
      [effectKey],
    );
    return row;
  }
}

/** What a decision was about, for the audit and for the caller. */
export function stateOf(seen: SeenState): KeyState {
  const { status, attempt, lastErrorCode, phase, phaseState, held } = seen;
  return {
    status,
    attempt,
    lastErrorCode,
    ...(phase !== null && { phase: { name: phase, state: phaseState! } }),
    ...(held && { held }),
  };
}
