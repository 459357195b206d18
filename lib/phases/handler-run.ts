import type { CallHandler } from '@nestjs/common';
import { Observable, type Observer } from 'rxjs';
import { HandlerEnd } from '../response/handler-end.js';
import { closePhases } from './close-phases.js';
import { requestContext, type RequestContext } from './request-context.js';

const nothing = (): void => undefined;

/**
 * One run of a handler and of the interceptors between the library's and the
 * handler, in its request context.
 */
export class HandlerRun {
  /** Nothing of the request is running any more. */
  readonly end = new HandlerEnd();

  constructor(private readonly context: RequestContext) {}

  /**
   * Unsubscribing does not reach the handler: a client that leaves must not stop
   * work that is half done.
   *
   * @param leftToWorker what Nest gets if the handler leaves its operation to a worker
   */
  start(next: CallHandler, leftToWorker?: () => Observable<unknown>): Observable<unknown> {
    const { attempt } = this.context;
    return new Observable((subscriber) => {
      this.inContext(() => {
        const running = next.handle().subscribe(new Relay(subscriber, this));
        if (!attempt || !leftToWorker) return;
        // Then there is neither a value nor an error for interceptors or filters.
        const leave = () => {
          running.unsubscribe();
          this.ended();
          leftToWorker().subscribe(subscriber);
        };
        // A function that is written right behind the `=` of a property begins its life in V8's old
        // generation, where it would keep the whole finished request until the next full collection.
        attempt.onLeftToWorker = leave;
      });
    });
  }

  /** Runs a plain function. When this settles, nothing that it began is at work any more. */
  async call<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await this.inContext(async () => work());
    } finally {
      await this.untilIdle();
    }
  }

  /** In the request's context, and in its span. */
  private inContext<T>(work: () => T): T {
    const { observed } = this.context.attempt ?? {};
    const run = () => requestContext.run(this.context, work);
    return observed ? observed.run(run) : run();
  }

  /** The handler and its interceptors have ended. */
  ended(error?: unknown): void {
    const { attempt } = this.context;
    if (attempt) {
      attempt.error = error;
      // Promises and timers of the handler may keep the attempt, which then keeps no more than itself.
      attempt.onLeftToWorker &&= nothing;
    }
    const working = this.untilIdle();
    if (working) void working.then(this.end.tell);
    else this.end.tell();
  }

  /**
   * The chain has ended, but the work may continue: an interceptor stopped
   * waiting for the handler (a time-out), or a phase was not awaited. Until it
   * ends, the attempt keeps the key; otherwise a retry would run concurrently.
   */
  private untilIdle(): Promise<void> | undefined {
    const handler = this.context.attempt?.handler;
    return handler ? handler.then(() => closePhases(this.context)) : closePhases(this.context);
  }
}

/**
 * Hands on what a handler emits, and notes its end. A class, because it lives as
 * long as its request: see "Garbage collection" in bench/README.md.
 */
class Relay implements Observer<unknown> {
  constructor(
    private readonly subscriber: Observer<unknown>,
    private readonly run: HandlerRun,
  ) {}

  next(value: unknown): void {
    this.run.end.hasValue = value !== undefined;
    this.subscriber.next(value);
  }

  error(error: unknown): void {
    this.run.end.hasValue = false;
    this.run.ended(error);
    this.subscriber.error(error);
  }

  complete(): void {
    this.run.ended();
    this.subscriber.complete();
  }
}
