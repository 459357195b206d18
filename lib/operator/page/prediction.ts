import { isFinished, wasClosed } from '../../resolution/refused.js';
import type { KeyStatus } from '../../schema/key-status.js';
import type { PhaseState } from '../../schema/phase-record.js';
import type { KeySummary } from '../key-report.js';
import type { Decision } from './decision.js';

/** What a decision would do to a key, as the key is now. */
export type Prediction =
  | {
      possible: true;
      /** The key's status after it; null if the key would be removed. */
      after: KeyStatus | null;
      /** What happens next, in sentences. */
      next: string[];
      /** What a person should consider first. */
      warnings: string[];
    }
  | { possible: false; why: string };

/** The foreign call that a decision is about. */
export interface PhaseTarget {
  name: string;
  state: PhaseState;
  effectKey: string;
  keyValidUntil: Date | null;
}

/**
 * A preview without a guarantee: the decision is made again, based on the state
 * at that time, and fenced by it.
 */
export function predict(
  key: KeySummary,
  decision: Decision,
  phase: PhaseTarget | undefined,
): Prediction {
  if (decision.action === 'hold') return hold(key);
  if (decision.action === 'release_hold') return releaseHold(key);
  if (key.status === 'in_progress') {
    return impossible(
      'An attempt runs this key now, or died a moment ago. Wait until it has ended.',
    );
  }
  switch (decision.action) {
    case 'resolve':
      return decision.of === 'phase'
        ? resolvePhase(key, decision.resolution.outcome, phase)
        : resolveKey(key, decision.resolution);
    case 'retry':
      return retry(key);
    case 'expire':
      return expire(key);
    case 'evict':
      return evict(key);
  }
}

function resolvePhase(
  key: KeySummary,
  outcome: 'executed' | 'rejected' | 'not_executed',
  phase: PhaseTarget | undefined,
): Prediction {
  if (!phase) return impossible('No foreign call of this key is in doubt.');
  const evident = outcome !== 'not_executed' && key.status !== 'unknown';
  const open = phase.state === 'intended' || (evident && phase.state === 'withdrawn');
  if (!open || isFinished(key)) {
    return impossible(
      `The call of phase "${phase.name}" is on record as ${phase.state}, and the key is ${key.status}.`,
    );
  }
  const goesOn = `${whoGoesOn(key)} continues from the last recovery point.`;
  switch (outcome) {
    case 'executed':
      return {
        possible: true,
        after: 'failed_retryable',
        next: [
          `Phase "${phase.name}" is recorded as done, with this result. The call is not made again.`,
          goesOn,
        ],
        warnings: [],
      };
    case 'rejected':
      return {
        possible: true,
        after: 'failed_retryable',
        next: [
          `Phase "${phase.name}" is recorded as rejected. The call is not made again.`,
          `${goesOn} The call throws the exception, as if the other system had just refused.`,
        ],
        warnings: [],
      };
    case 'not_executed':
      return {
        possible: true,
        after: 'failed_retryable',
        next: [
          `${whoGoesOn(key)} makes the call of phase "${phase.name}" again, under the same effect key.`,
        ],
        warnings: [
          'If the call did take effect, or still does, and the other system does not recognise the effect key, it happens twice.',
          ...(phase.keyValidUntil !== null && phase.keyValidUntil.getTime() <= Date.now()
            ? [
                'The other system has forgotten the effect key: it would not recognise a repetition.',
              ]
            : []),
        ],
      };
  }
}

function resolveKey(
  key: KeySummary,
  resolution: Extract<Decision, { of: 'key' }>['resolution'],
): Prediction {
  if (key.status !== 'unknown') {
    return impossible(`The key is ${key.status}; only an unknown one can be resolved.`);
  }
  if (key.inDoubt) {
    return impossible(
      `The call of phase "${key.inDoubt.phase}" is in doubt: say what became of it first.`,
    );
  }
  if (resolution.outcome === 'completed') {
    return {
      possible: true,
      after: 'completed',
      next: [`The key is finished. Each retry gets ${resolution.answer.status} with this body.`],
      warnings: [],
    };
  }
  return {
    possible: true,
    after: 'failed_retryable',
    next: [`${whoGoesOn(key)} runs it again, from the recovery point "${key.recoveryPoint}".`],
    warnings: ['Whatever the handler did outside of phases before it died would be done again.'],
  };
}

function retry(key: KeySummary): Prediction {
  if (isFinished(key) || key.status === 'expired') {
    return impossible(`The key is ${key.status}: there is nothing to try again.`);
  }
  if (key.status === 'unknown') {
    if (!key.inDoubt) return impossible('There is no recorded foreign call to ask about.');
    return {
      possible: true,
      after: 'unknown',
      next: [
        `The reconciler asks again what became of phase "${key.inDoubt.phase}", from its first question.`,
      ],
      warnings: [],
    };
  }
  if (key.operation === null) {
    return impossible('The key has no @Resumable() operation, so only its client can retry it.');
  }
  return {
    possible: true,
    after: key.status,
    next: ['The completer tries the operation now, with another round of attempts.'],
    warnings: [],
  };
}

function hold({ heldAt, status }: KeySummary): Prediction {
  if (heldAt !== null) return impossible('The key is held already.');
  return {
    possible: true,
    after: status,
    next: [
      'The key is kept, whatever its retention: nothing removes or closes it until it is released.',
    ],
    warnings: [],
  };
}

function releaseHold({ heldAt, status, expiresAt }: KeySummary): Prediction {
  if (heldAt === null) return impossible('Nobody holds the key.');
  const past = expiresAt !== null && expiresAt.getTime() <= Date.now();
  return {
    possible: true,
    after: status,
    next: ['The retention of the key counts again.'],
    warnings: past
      ? ['The key is past its retention: it goes with the next round of the reaper.']
      : [],
  };
}

const HELD = 'The key is held. Release the hold first, if it may go.';

function expire(key: KeySummary): Prediction {
  if (key.heldAt !== null) return impossible(HELD);
  if (key.status === 'expired' || wasClosed(key)) {
    return impossible('The key has already expired.');
  }
  if (isFinished(key)) {
    return {
      possible: true,
      after: 'expired',
      next: ['The answer is removed, and a tombstone remains: each retry gets 410.'],
      warnings: ['The client can no longer learn how its request ended.'],
    };
  }
  if (key.status === 'unknown') return impossible('The outcome is unknown. Resolve it first.');
  if (key.inDoubt) {
    return impossible(
      `The call of phase "${key.inDoubt.phase}" is in doubt: say what became of it first.`,
    );
  }
  return {
    possible: true,
    after: 'completed',
    next: ['The key is closed: each retry gets 408, and nobody continues it.'],
    warnings: ['What its finished phases have done stays done.'],
  };
}

function evict(key: KeySummary): Prediction {
  if (key.heldAt !== null) return impossible(HELD);
  if (key.status === 'unknown') return impossible('The outcome is unknown. Resolve it first.');
  if (!isFinished(key) && key.status !== 'expired') {
    return impossible(
      `The key is ${key.status}: what it has done so far would be done again. Expire it to close it.`,
    );
  }
  return {
    possible: true,
    after: null,
    next: ['The key and its answer are removed. The audit stays.'],
    warnings: ['The next request with this key is a new operation: it takes effect again.'],
  };
}

/** Who resumes the key. */
function whoGoesOn({ operation }: KeySummary): string {
  return operation === null ? "The client's next retry" : 'The completer, right away,';
}

function impossible(why: string): Prediction {
  return { possible: false, why };
}
