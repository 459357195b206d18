/** Something in the user's code that a crash would turn into harm. */
export interface Misuse {
  /** Which kind of mistake it is, for programs. */
  code: MisuseCode;
  /** What was done and what to do instead, for people. */
  message: string;
  /** The phase that it is about, where the running code is not part of it. */
  phase?: string;
  /** Of a call that is only warned of: where it goes, with its port. */
  origin?: string | undefined;
}

export type MisuseCode =
  /** A phase cannot be used like this. */
  | 'phase_misused'
  | 'phase_not_awaited'
  | 'write_outside_phase'
  | 'write_past_transaction'
  | 'write_in_call'
  | 'call_outside_phase'
  | 'call_in_transaction'
  | 'second_call_in_phase';

let listener: ((misuse: Misuse) => void) | undefined;

/** Tells the testing kit, if it listens. Called where the mistake is made, so that the stack leads there. */
export function noticeMisuse(misuse: Misuse): void {
  listener?.(misuse);
}

/** Mistakes are looked for even where nobody wants warnings. */
export function isMisuseWatched(): boolean {
  return listener !== undefined;
}

/** One listener at a time. @returns what ends it */
export function watchMisuse(listen: (misuse: Misuse) => void): () => void {
  listener = listen;
  return () => {
    if (listener === listen) listener = undefined;
  };
}
