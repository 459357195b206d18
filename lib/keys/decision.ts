import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { PhaseRecord } from '../schema/phase-record.js';
import type { Answer } from '../answers/answer.js';
import type { ErrorCode } from '../schema/error-code.js';
import type { ColumnCipher } from '../encryption/column-cipher.js';
import type { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import type { Attempt } from './attempt.js';
import type { FoundKey } from './found-key.js';
import type { LimitedKey } from './reserver.js';

/** What a request with a key gets. */
export type Decision =
  | { kind: 'run'; attempt: Attempt }
  | { kind: 'replay'; answer: Answer; expiresAt: Date | null }
  | { kind: 'accepted'; id: string; runningFor: number }
  | { kind: 'inProgress'; id: string; runningFor: number }
  | { kind: 'mismatch' }
  | { kind: 'unknown'; reconcileIn: number | null }
  /** Workers have tried it the maximum number of times; a person has to look at it. */
  | { kind: 'givenUp' }
  | { kind: 'gone' }
  /** Created longer ago than keys are kept, so nobody can know whether it was used before. */
  | { kind: 'stale' }
  | LimitedKey
  /** Finished, but the answer cannot be replayed. */
  | { kind: 'unavailable'; status: number | null };

/** What can be decided from the key alone. */
type Decided = Exclude<Decision, { kind: 'run' | 'inProgress' | 'accepted' | 'stale' | 'limited' }>;

/** What has to happen first. */
export type Undecided =
  /** An attempt runs it now. */
  | { kind: 'running'; runningFor: number }
  | { kind: 'pending'; runningFor: number }
  /** Past retention: remove it and reserve again. */
  | { kind: 'forget' }
  /** Nobody runs it: take it over, if that is safe. */
  | { kind: 'resume' }
  /** It is this attempt's own reservation, whose reply was lost. */
  | { kind: 'ours' }
  /** What is on record cannot be read. */
  | { kind: 'unreadable'; fault: UnreadableRecordError };

const UNDECIDED: ReadonlySet<string> = new Set<Undecided['kind']>([
  'running',
  'pending',
  'forget',
  'resume',
  'ours',
  'unreadable',
]);

export function isDecision(decided: Decided | Undecided): decided is Decided {
  return !UNDECIDED.has(decided.kind);
}

/** The retry table of docs/concepts/states.md. */
export function decide(
  key: FoundKey,
  request: { fingerprint: Buffer; owner: string; cipher: ColumnCipher },
  policy: Pick<ResolvedPolicy, 'onExpired' | 'onMismatch' | 'run'>,
): Decided | Undecided {
  if (key.status === 'in_progress' && key.owner === request.owner) return { kind: 'ours' };
  if (key.status === 'expired') return { kind: 'gone' };
  if (key.status === 'completed' && key.pastRetention) {
    return policy.onExpired === 'gone' ? { kind: 'gone' } : { kind: 'forget' };
  }
  const fault = request.cipher.faultOf(key.fingerprint) ?? key.fault;
  if (fault) return { kind: 'unreadable', fault };
  if (!request.cipher.isFingerprint(key.fingerprint, request.fingerprint)) {
    const replays = key.status === 'completed' && policy.onMismatch === 'replay';
    if (!replays) return { kind: 'mismatch' };
  }
  switch (key.status) {
    case 'completed':
      return key.answer
        ? { kind: 'replay', answer: key.answer, expiresAt: key.expiresAt }
        : { kind: 'unavailable', status: key.responseStatus };
    case 'unknown':
      return { kind: 'unknown', reconcileIn: key.reconcileIn };
    case 'pending':
      return { kind: 'pending', runningFor: key.runningFor };
    case 'in_progress':
      return key.lapsed ? { kind: 'resume' } : { kind: 'running', runningFor: key.runningFor };
    case 'failed_retryable':
      // Workers keep their own pace, whether a client asks or not.
      if (policy.run !== 'background' || key.operation === null) return { kind: 'resume' };
      return key.resumeIn === null
        ? { kind: 'givenUp' }
        : { kind: 'pending', runningFor: key.runningFor };
    case 'performed':
      return { kind: 'resume' };
  }
}

/**
 * Whether a key that nobody runs may run again, and if not, why its outcome is
 * unknown. A phase in doubt decides first: `onAbandoned` is about the code
 * between phases and does not permit repeating a payment. A recorded operation
 * can be run again from the beginning: its input is stored, and its effects are
 * phases.
 */
export function whyNotResumable(
  key: Pick<FoundKey, 'status' | 'operation'>,
  phases: readonly PhaseRecord[],
  policy: Pick<ResolvedPolicy, 'onAbandoned'>,
): ErrorCode | undefined {
  const doubt = phases.find((phase) => phase.state === 'intended');
  if (doubt) {
    if (doubt.inDoubt === 'stop') return 'in_doubt';
    if (doubt.inDoubt === 'repeat' && doubt.keyForgotten) return 'effect_key_forgotten';
    return undefined;
  }
  if (key.status !== 'in_progress' || key.operation !== null) return undefined;
  if (phases.length > 0 || policy.onAbandoned === 'resume') return undefined;
  return 'abandoned';
}
