/** `operation`: the result of a whole resumable operation that was completed without its client. */
export type PhaseKind = 'local' | 'foreign' | 'operation';

/**
 * `intended`: a foreign call was begun and its outcome is not recorded (in doubt
 * as soon as its attempt is over). `withdrawn`: it is certain that the call did
 * not take effect; the effect key is kept for the next try. `reconciled`: it was
 * found out later that the call took effect; the next attempt uses its result,
 * runs `record`, and does not call again. `rejected`: the other system refused it
 * definitely.
 */
export type PhaseState = 'intended' | 'withdrawn' | 'reconciled' | 'finished' | 'rejected';

/** What to do about a foreign call whose outcome is not known. */
export type InDoubt = 'repeat' | 'reconcile' | 'stop';

/** A phase as an earlier attempt left it. */
export interface PhaseRecord {
  name: string;
  position: number;
  kind: PhaseKind;
  state: PhaseState;
  effectKey: string | null;
  inDoubt: InDoubt | null;
  /** The other system has forgotten the effect key by now, on the database's clock. */
  keyForgotten: boolean;
  startedAt: Date;
  /** The JSON text; undefined where the phase returned undefined. */
  request: string | undefined;
  result: string | undefined;
}
