import type { ErrorCode } from '../schema/error-code.js';
import type { KeyStatus } from '../schema/key-status.js';
import type { PhaseState } from '../schema/phase-record.js';

/**
 * Who decided, and why: both go into the audit. A name alone is enough for
 * machines. `seen` is the state that a person saw: if the key has changed since,
 * the decision is refused, because it was made about another state.
 */
export type By = string | { who: string; why?: string; seen?: SeenByPerson };

/** What tells two states of a key apart. */
export interface SeenByPerson {
  status: KeyStatus;
  attempt: number;
}

/** The part of a key's state that a decision is about. */
export interface KeyState {
  status: KeyStatus;
  attempt: number;
  lastErrorCode: ErrorCode | null;
  /** The phase that the decision is about. */
  phase?: { name: string; state: PhaseState };
  /** Somebody holds it: it is kept, whatever its retention. */
  held?: boolean;
}

/** Why nothing was changed. */
export type Refusal =
  /** There is no such key, or no foreign call under this effect key. */
  | 'not_found'
  /** An argument is not valid. */
  | 'invalid'
  /** An attempt runs the key and will record its own outcome. */
  | 'running'
  /** The attempt has just died; the sweeper or a retry will decide what follows. */
  | 'lapsed'
  /** It was resolved before, or never in doubt. */
  | 'not_in_doubt'
  /** Only an unknown key can be resolved. */
  | 'not_unknown'
  /** A foreign call is in doubt: resolve that first. */
  | 'in_doubt'
  /** The outcome is unknown: resolve it first. */
  | 'unknown'
  /** The work is not finished. */
  | 'not_finished'
  /** The work is finished already. */
  | 'finished'
  /** It has already expired: it is a tombstone, or was closed with 408. */
  | 'expired'
  /** Only its client can continue it. */
  | 'no_operation'
  /** There is no recorded foreign call to ask about. */
  | 'nothing_to_ask'
  /** This process only reads. */
  | 'read_only'
  /** Somebody holds the key: it may not go. */
  | 'held'
  /** Nobody holds the key. */
  | 'not_held'
  /** Something is not sealed yet, so erasing would leave it readable. */
  | 'plaintext'
  /** The key has changed since a person saw it, or kept changing while the decision was made. */
  | 'changed_meanwhile';

/** The result of a decision. A refused one has changed nothing. */
export type Change =
  | {
      changed: true;
      /** The key's row. */
      id: string;
      before: KeyState;
      /** Null where the key is gone. */
      after: KeyState | null;
    }
  | Refused;

export interface Refused {
  changed: false;
  reason: Refusal;
  /** A sentence for a person, with what to do instead. */
  detail: string;
}

export function refuse(reason: Refusal, detail: string): Refused {
  return { changed: false, reason, detail };
}

/** Undefined if nobody is named: the audit needs a name. */
export function actorOf(
  by: By,
): { who: string; why: string | null; seen?: SeenByPerson } | undefined {
  const { who, why, seen } = typeof by === 'string' ? ({ who: by } as Named) : (by ?? {});
  if (typeof who !== 'string' || who.trim() === '') return undefined;
  return { who, why: why === undefined ? null : String(why), ...(seen && { seen }) };
}

type Named = Exclude<By, string>;
