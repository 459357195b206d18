import { EMPTY, Observable, of } from 'rxjs';

const watchOf = Symbol('idempotency:watch');

/** Set on a request whose chain of interceptors is watched from outside. */
interface WatchedRequest {
  [watchOf]?: { answered: boolean };
}

/**
 * What an interceptor returns once it has answered the request itself: nothing,
 * so that outer interceptors have no value to read members of, and still see the
 * end. Nest takes a chain without a value for an error, hence `watchForAnswers`
 * around it; without that it is `undefined`, which Nest accepts.
 */
export function answered(request: object): Observable<undefined> {
  const watch = (request as WatchedRequest)[watchOf];
  if (!watch) return of(undefined);
  watch.answered = true;
  return EMPTY;
}

/**
 * The whole chain of a request, all interceptors included. Where one of them has
 * answered, that there is no value is not an error any more: Nest gets an
 * `undefined`, which goes nowhere, because the response is silenced.
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
      // From `await lastValueFrom(next.handle())`, for example.
      error: (error: unknown) => {
        if (watch.answered && isEmptyError(error)) complete();
        else subscriber.error(error);
      },
      complete,
    });
  });
}

/** By its name: there may be more than one copy of rxjs. */
function isEmptyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'EmptyError';
}
