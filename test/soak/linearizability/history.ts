import type { Told as ModelTold } from '../../protocol/vocabulary.js';

/** What one client was told of a key. */
export type Told =
  | {
      kind: 'final';
      status: ModelTold extends infer T ? (T extends { status: infer S } ? S : never) : never;
      /** Body and headers that every replay repeats, or a digest of them. */
      bytes: string;
      replayed: boolean;
    }
  | { kind: 'failed' | 'in_progress' | 'unknown' | 'lease_lost' }
  /** No answer, or one that says nothing about the key: the client gave up, the process died, 503. */
  | { kind: 'nothing' };

/** One request with a key, as its client saw it. */
export interface Operation {
  /** Moments on the clock of the clients, or any other numbers in the same order. */
  invoked: number;
  /** `NEVER` where nothing was told: it may take effect then, at any later time, or not at all. */
  returned: number;
  told: Told;
}

export const NEVER = Number.POSITIVE_INFINITY;
