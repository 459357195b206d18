import type { ErrorCode } from '../schema/error-code.js';
import type { KeyStatus } from '../schema/key-status.js';
import type { LastPhase } from './last-phase.js';
import type { StoredAnswer } from './stored-answer.js';

/** The outcome of an attempt. */
export interface KeyOutcome extends StoredAnswer {
  scope: string;
  /** The key's, by which its row is found. */
  id: string;
  owner: string;
  status: Extract<KeyStatus, 'completed' | 'failed_retryable' | 'performed' | 'unknown'>;
  errorCode: ErrorCode | null;
  retention: number | null;
  /** When the completer may try, if the key has an operation; null for never. */
  resumeIn: number | null;
  /** The outcome of its last phase, if that is not on record yet. */
  lastPhase?: LastPhase | undefined;
}

/** A recorded outcome. */
export interface RecordedOutcome {
  expiresAt: Date | null;
}
