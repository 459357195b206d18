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

/**
 * The context of a part of a handler. Member by member: an object that another one
 * is spread into has a hidden class of its own each time, and V8 cannot remember
 * where its members are.
 */
class PartOfHandler implements RequestContext {
  readonly attempt: Attempt | undefined;
  readonly journal: PhaseJournal;
  readonly route: string;
  readonly guard: UsageGuard;
  readonly phased: boolean;
  readonly transactions: OpenTransactions;

  constructor(
    whole: RequestContext,
    readonly phase: RunningPhase | undefined,
    readonly unguarded: boolean,
    readonly unprotected: boolean,
  ) {
    this.attempt = whole.attempt;
    this.journal = whole.journal;
    this.route = whole.route;
    this.guard = whole.guard;
    this.phased = whole.phased;
    this.transactions = whole.transactions;
  }
}

const storage = new AsyncLocalStorage<Surroundings | RequestContext>();

export const requestContext = {
  run<T>(context: RequestContext, work: () => T): T {
    return storage.run(context, work);
  },

  /**
   * The guard ignores the library's own work in it.
   *
   * @param unprotected the application has declared the work harmless
   */
  runUnguarded<T>(context: RequestContext, work: () => T, unprotected = context.unprotected): T {
    return storage.run(new PartOfHandler(context, context.phase, true, unprotected ?? false), work);
  },

  /** The application's code of a phase, which the guard watches. */
  runPhase<T>(context: RequestContext, phase: RunningPhase, work: () => T): T {
    return storage.run(new PartOfHandler(context, phase, false, false), work);
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
