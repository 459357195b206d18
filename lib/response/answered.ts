import { EMPTY, Observable, of } from 'rxjs';

const watchOf = Symbol('idempotency:watch');

/** Set on a request whose chain of interceptors has an outer watcher. */
interface WatchedRequest {
  [watchOf]?: { answered: boolean };
}

/**
 * What an interceptor returns once it has answered the request itself: an empty
 * stream, so that outer interceptors have no value to read, and still see the
 * completion. Nest treats an empty stream as an error, hence `watchForAnswers`
 * around it; without that, the value is `undefined`, which Nest accepts.
 */
export function answered(request: object): Observable<undefined> {
  const watch = (request as WatchedRequest)[watchOf];
  if (!watch) return of(undefined);
  watch.answered = true;
  return EMPTY;
}

/**
 * The whole chain of a request, all interceptors included. If one of them has
 * answered, a missing value is not an error: Nest gets `undefined`, which is
 * never sent, because the response is silenced.
 */
export function watchForAnswers(
  request: object,
  chain: () => Observable<unknown>,
): Observable<unknown> {
  const watched = request as WatchedRequest;
  if (watched[watchOf]) return chain();
  const watch = (watched[watchOf] = { answered: false });
  return new Observable((subscriber) => {
    let empty = true;
    const complete = () => {
      if (empty && watch.answered) subscriber.next(undefined);
      subscriber.complete();
    };
    return chain().subscribe({
      next: (value) => {
        empty = false;
        subscriber.next(value);
      },
      // Thrown by `await lastValueFrom(next.handle())`, for example.
      error: (error: unknown) => {
        if (watch.answered && isEmptyError(error)) complete();
        else subscriber.error(error);
      },
      complete,
    });
  });
}

/** Compared by name, because there may be more than one copy of rxjs. */
function isEmptyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'EmptyError';
}
