import { AsyncResource } from 'node:async_hooks';

/** Made when the library is loaded, which no request does. */
const scope = new AsyncResource('IdempotencyBackground');

/**
 * Runs what serves many requests outside of the one that happens to start it:
 * batches, heartbeats and jobs. Whatever they begin would otherwise belong to that
 * request for ever: its trace, its guards, and whatever else the application keeps
 * in an AsyncLocalStorage.
 */
export function outside<T>(work: () => T): T {
  return scope.runInAsyncScope(work);
}
