import type { ErrorCode } from '../schema/error-code.js';
import type { KeyStatus } from '../schema/key-status.js';
import type { PhaseState } from '../schema/phase-record.js';

/**
 * Who decided, and why: both go into the audit. A name alone will do for machines.
 * `seen` is what a person had in front of them: if the key has moved on since,
 * the decision is refused, because it was made about something else.
 */
export type By = string | { who: string; why?: string; seen?: SeenByPerson };

/** As much of a key as tells one look at it from the next. */
export interface SeenByPerson {
  status: KeyStatus;
  attempt: number;
}

/** As much of a key as a decision is about. */
export interface KeyState {
  status: KeyStatus;
  attempt: number;
  lastErrorCode: ErrorCode | null;
  /** The phase that the decision is about. */
  phase?: { name: string; state: PhaseState };
}

/** Why nothing was changed. */
export type Refusal =
  /** There is no such key, or no foreign call under this effect key. */
  | 'not_found'
  /** An argument cannot be meant. */
  | 'invalid'
  /** An attempt runs the key; it will say itself how it ended. */
  | 'running'
  /** The attempt died a moment ago; the sweeper is about to decide what that means. */
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
  /** Its life was ended already: it is a tombstone, or closed with 408. */
  | 'expired'
  /** Nobody but its client can go on with it. */
  | 'no_operation'
  /** No foreign call is on record that could be asked about. */
  | 'nothing_to_ask'
  /** The key has changed since a person saw it, or others changed it each time it was looked at. */
  | 'changed_meanwhile';

/** What came of a decision. A refused one has changed nothing. */
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

/** Undefined where nobody is named: an audit without a name is none. */
export function actorOf(
  by: By,
): { who: string; why: string | null; seen?: SeenByPerson } | undefined {
  const { who, why, seen } = typeof by === 'string' ? ({ who: by } as Named) : (by ?? {});
  if (typeof who !== 'string' || who.trim() === '') return undefined;
  return { who, why: why === undefined ? null : String(why), ...(seen && { seen }) };
}

type Named = Exclude<By, string>;
