import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt } from '../keys/attempt.js';
import type { PhaseJournal } from './phase-journal.js';
import type { RunningPhase } from './running-phase.js';
import type { UsageGuard } from './usage-guard.js';
import type { OpenTransactions } from './open-transactions.js';

/** What surrounds the code of any request, from before its middleware on. */
export interface Surroundings {
  transactions: OpenTransactions;
  /** A handler that cannot have phases, for the error of one that starts here all the same. */
  withoutPhases?: HandlerWithoutPhases;
}

export interface HandlerWithoutPhases {
  kind: 'message' | 'call';
  /** As an error names it. */
  name: string;
}

/** What surrounds the code of an idempotent handler. */
export interface RequestContext extends Surroundings {
  /** Undefined on a route where keys are optional and the request came without one. */
  attempt: Attempt | undefined;
  journal: PhaseJournal;
  /** Controller and method, for messages. */
  route: string;
  /** What watches for misuse of phases. */
  guard: UsageGuard;
  /** All that the handler does beyond reading has to happen in phases. */
  phased: boolean;
  /** The guard looks away: the library's own work, and what the user has declared harmless. */
  unguarded?: boolean;
  /** The user has declared it harmless: it may be missing or happen again. */
  unprotected?: boolean;
  /** The phase that the code is part of, if it is. */
  phase?: RunningPhase | undefined;
}

const storage = new AsyncLocalStorage<Surroundings | RequestContext>();

export const requestContext = {
  run<T>(context: RequestContext, work: () => T): T {
    return storage.run(context, work);
  },

  /** For code outside an idempotent handler. */
  surround<T>(surroundings: Surroundings, work: () => T): T {
    return storage.run(surroundings, work);
  },

  /** The same for all that the running callback goes on to do. */
  enter(surroundings: Surroundings): void {
    storage.enterWith(surroundings);
  },

  get current(): RequestContext | undefined {
    const surroundings = storage.getStore();
    return surroundings && 'journal' in surroundings ? surroundings : undefined;
  },

  get surroundings(): Surroundings | undefined {
    return storage.getStore();
  },
};
