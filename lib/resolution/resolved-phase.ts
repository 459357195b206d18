import { phaseResult } from '../phases/phase-result.js';
import type { Reconciliation } from '../phases/reconciler.js';
import { rejectionOf } from '../phases/rejection.js';

/** What became of a foreign call, from somebody who knows. */
export type Resolution = Exclude<Reconciliation, { outcome: 'unknown' }>;

/** The phase's row after it. */
export interface ResolvedPhase {
  state: 'reconciled' | 'rejected' | 'withdrawn';
  /** JSON text. */
  result: string | undefined;
}

/** Throws where the result cannot be stored. */
export function resolvedPhase(resolution: Resolution, phase: string): ResolvedPhase {
  switch (resolution.outcome) {
    case 'executed':
      return {
        state: 'reconciled',
        result: phaseResult(phase, resolution.result),
      };
    case 'rejected':
      return {
        state: 'rejected',
        result: rejectionOf(resolution.error, `The rejection of phase "${phase}"`),
      };
    case 'not_executed':
      return { state: 'withdrawn', result: undefined };
  }
}
