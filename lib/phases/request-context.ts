import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt } from '../keys/attempt.js';
import type { PhaseJournal } from './phase-journal.js';
import type { RunningPhase } from './running-phase.js';
import type { UsageGuard } from './usage-guard.js';
import type { OpenTransactions } from './open-transactions.js';

/** The context of any request, from before its middleware. */
export interface Surroundings {
  transactions: OpenTransactions;
  /** A handler that cannot have phases, for the error of a phase that starts in it. */
  withoutPhases?: HandlerWithoutPhases;
}

export interface HandlerWithoutPhases {
  kind: 'message' | 'call';
  /** Its name in errors. */
  name: string;
}

/** The context of an idempotent handler. */
export interface RequestContext extends Surroundings {
  /** Undefined if keys are optional and the request has none. */
  attempt: Attempt | undefined;
  journal: PhaseJournal;
  /** Controller and method, for messages. */
  route: string;
  /** Reports misuse of phases. */
  guard: UsageGuard;
  /** All effects of the handler have to happen in phases. */
  phased: boolean;
  /**
   * The guard is off: for the library's own work, and for what the application
   * has declared harmless.
   */
  unguarded?: boolean;
  /** The application has declared it harmless: it may be missing or happen again. */
  unprotected?: boolean;
  /** The phase that the code is part of, if any. */
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

  /** The same, for the rest of the running callback. */
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
