import { phaseResult } from '../phases/phase-result.js';
import type { Reconciliation } from '../phases/reconciler.js';
import { rejectionOf } from '../phases/rejection.js';

/** The outcome of a foreign call, as somebody found it out. */
export type Resolution = Exclude<Reconciliation, { outcome: 'unknown' }>;

/** The phase's row after the resolution. */
export interface ResolvedPhase {
  state: 'reconciled' | 'rejected' | 'withdrawn';
  /** JSON text. */
  result: string | undefined;
}

/** Throws if the result cannot be stored. */
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
