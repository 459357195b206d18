import type { Answer } from '../answers/answer.js';
import type { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import type { KeyName } from '../schema/key-name.js';
import type { KeyStatus } from '../schema/key-status.js';

/** A key as a statement found it. All times were compared on the database's clock. */
export interface FoundKey extends KeyName {
  /** One opaque value, for people and for references. */
  id: string;
  fingerprint: Buffer;
  status: KeyStatus;
  recoveryPoint: string;
  owner: string;
  attempt: number;
  /** Seconds, exact to the microsecond, hence a string. Every heartbeat changes it. */
  lockedUntil: string;
  lapsed: boolean;
  pastRetention: boolean;
  /** Milliseconds until then; null if it is kept for ever. */
  expiresIn: number | null;
  /** Milliseconds since the running attempt began. */
  runningFor: number;
  /**
   * Milliseconds until the reconciler asks about an unknown outcome; null if it
   * is left to people.
   */
  reconcileIn: number | null;
  /** Milliseconds until a worker continues it; null if none will. */
  resumeIn: number | null;
  /** How often workers have tried it. */
  resumeAttempts: number;
  /** The recorded resumable operation. */
  operation: string | null;
  /** The span of the request that reserved it. */
  traceparent: string | null;
  expiresAt: Date | null;
  responseStatus: number | null;
  /** Undefined if there is no answer, or none that this version can read. */
  answer: Answer | undefined;
  /** Why its answer cannot be read, if it has one that should be. */
  fault?: UnreadableRecordError | undefined;
}
