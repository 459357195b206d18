import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt } from '../keys/attempt.js';
import type { PhaseJournal } from '../phases/phase-journal.js';
import type { PhaseScope } from '../phases/phase-scope.js';
import type { UsageGuard } from '../phases/usage-guard.js';

/** What surrounds the code of an idempotent handler. */
export interface RequestContext {
  /** Undefined on a route where keys are optional and the request came without one. */
  attempt: Attempt | undefined;
  journal: PhaseJournal;
  /** Controller and method, for messages. */
  route: string;
  /** What watches for misuse of phases; undefined where nothing does. */
  guard: UsageGuard | undefined;
  /** The phase that the code is part of, if it is. */
  phase?: PhaseScope;
}

const storage = new AsyncLocalStorage<RequestContext>();

export const requestContext = {
  run<T>(context: RequestContext, work: () => T): T {
    return storage.run(context, work);
  },

  get current(): RequestContext | undefined {
    return storage.getStore();
  },
};
