import { AsyncResource } from 'node:async_hooks';

/** Created when the library is loaded, outside of any request. */
const scope = new AsyncResource('IdempotencyBackground');

/**
 * Runs work that serves many requests (batches, heartbeats, jobs) outside of the
 * request that happens to start it. Otherwise that work would keep the request's
 * async context for ever: its trace, its guards, and everything else that the
 * application keeps in an AsyncLocalStorage.
 */
export function outside<T>(work: () => T): T {
  return scope.runInAsyncScope(work);
}
