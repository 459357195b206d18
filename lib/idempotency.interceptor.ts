import {
  Inject,
  Injectable,
  Logger,
  Optional,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Observable } from 'rxjs';
import { errorFrames, errorLine } from './telemetry/error-line.js';
import { playDead } from './faults/fault-points.js';
import { isIdempotent, isSafe } from './policy/http-methods.js';
import type { ResolvedPolicy } from './policy/resolve-policy.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { IdempotentRoutes, type IdempotentRoute } from './idempotency.routes.js';
import { IMPORTED } from './tokens.js';
import type { Attempt } from './keys/attempt.js';
import { StoreUnavailableError } from './postgres/store-unavailable.error.js';
import type { Decision } from './keys/decision.js';
import { Recorder, type Recorded } from './keys/recorder.js';
import { Reservations } from './keys/reservations.js';
import { missingModule } from './missing-module.js';
import { closePhases } from './phases/close-phases.js';
import { PhaseJournal } from './phases/phase-journal.js';
import { aroundPhasedRoute, withoutConnection } from './phases/phase-refusals.js';
import { TransactionWatch } from './phases/transaction-watch.js';
import { customFingerprint, fingerprint as fingerprintOf } from './request/fingerprint.js';
import { keptRequest, pathOf } from './request/kept-request.js';
import { describeRequest, routeOnHost, type IncomingRequest } from './request/incoming-request.js';
import { readKey } from './request/key-header.js';
import { OpenTransactions } from './phases/open-transactions.js';
import { requestContext, type RequestContext } from './phases/request-context.js';
import { readScope } from './request/scope.js';
import type { Answer, ObservedAnswer, Verdict } from './answers/answer.js';
import { answered } from './response/answered.js';
import type { Client } from './response/client.js';
import { HandlerEnd } from './response/handler-end.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { StatusLocation } from './background/status-location.js';
import { acceptedAnswer } from './answers/accepted.js';
import { RefusalLog } from './keys/refusal-log.js';
import { keyMissing, problemOf, refusalOf, storeUnavailable } from './keys/refusal.js';
import type { IdempotencyProblem } from './answers/problems.js';
import { renderProblem } from './answers/render-problem.js';
import { finalHeaders, replayOf } from './answers/replay.js';
import { endOfTurn } from './turn.js';

/** On a request that has passed: a second copy of the interceptor on a route has nothing to do. */
const seen = Symbol('idempotency:seen');
type SeenRequest = IncomingRequest & { [seen]?: boolean };

/** The protocol, top to bottom: key, fingerprint, reserve, then replay or refuse or run, record. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly refusals = new RefusalLog();

  /**
   * Nest builds it in the module of each controller. The dependencies are
   * optional, so that a module that does not see ours gets an error with the
   * cure. If one of them has failed itself, its own error ends the boot.
   */
  constructor(
    @Optional() private readonly settings: IdempotencySettings,
    @Optional() private readonly routes: IdempotentRoutes,
    @Optional() private readonly reservations: Reservations,
    @Optional() private readonly recorder: Recorder,
    @Optional() private readonly http: HttpPlatformHost,
    @Optional() private readonly statusLocation: StatusLocation,
    @Optional() private readonly watch: TransactionWatch,
    @Optional() @Inject(IMPORTED) imported: true | undefined,
    modules: ModulesContainer,
  ) {
    if (!imported) throw missingModule(IdempotencyInterceptor, modules);
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const route = context.getType() === 'http' ? this.routes.find(context) : undefined;
    if (!route) return next.handle();
    const request = context.switchToHttp().getRequest<SeenRequest>();
    if (request[seen] || isSafe(request.method)) return next.handle();
    request[seen] = true;

    const surrounded = this.watch.isInside;
    // A phase would say so as well, but reserving the key needs a connection first.
    if (surrounded && route.policy.phased) throw aroundPhasedRoute(routeName(context));

    try {
      const key = readKey(request, this.settings.header);
      if (key === undefined) {
        if (needsKey(route, request.method)) throw keyMissing(this.settings.header);
        const unkeyed = this.contextOf(context, route.policy);
        return within(unkeyed, next, () => void unkeyed.journal.close());
      }
      // Requests that came together are looked at together, and so are their answers.
      await endOfTurn();
      const claimed = this.claim(key, route, request, context);
      const decision = claimed instanceof Promise ? await claimed : claimed;
      switch (decision.kind) {
        case 'run':
          return this.run(decision.attempt, context, next);
        case 'replay':
          return this.answer(context, replayOf(decision, this.settings.dialect));
        case 'accepted':
          return this.answer(context, this.accepted(decision));
        default:
          throw refusalOf(decision);
      }
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      if (surrounded && error instanceof StoreUnavailableError) {
        const name = routeName(context);
        this.settings.guard.warnOnce(`${name} without connection`, withoutConnection(name));
      }
      this.refusals.note(problem, error, routeName(context));
      return this.answer(context, this.render(problem));
    }
  }

  /** Who asks, for what exactly; then what the key's row says. Only what is not there at once is waited for. */
  private claim(
    key: string,
    { policy, ofHost }: IdempotentRoute,
    request: IncomingRequest,
    context: ExecutionContext,
  ): Decision | Promise<Decision> {
    const claimIn = (scope: string): Decision | Promise<Decision> => {
      const pattern = this.http.platform.routePattern(request);
      const described = describeRequest(request, ofHost ? routeOnHost(request, pattern) : pattern);
      const { method, route } = described;
      const endpoint = policy.keyspace === 'endpoint' ? `${method} ${route}` : '';
      const name = { scope, endpoint, key };
      const askedFor = () => ({
        method,
        route,
        path: pathOf(described.url),
        kept: keptRequest(policy.keepRequest, request),
      });
      const client = policy.onInProgress === 'wait' ? this.clientOf(context) : undefined;
      if (policy.fingerprint) {
        return Promise.resolve(policy.fingerprint(request, context)).then((custom) =>
          this.reservations.claim(
            name,
            customFingerprint(described, custom),
            policy,
            this.reservations.recall(name),
            askedFor,
            client,
          ),
        );
      }
      const known = this.reservations.recall(name);
      const fingerprint = known ? known.fingerprintOf(described) : fingerprintOf(described);
      return this.reservations.claim(name, fingerprint, policy, known, askedFor, client);
    };
    const scope = readScope(this.settings.scope, request, context);
    return typeof scope === 'string' ? claimIn(scope) : scope.then(claimIn);
  }

  /** Runs the handler and holds its answer back until the outcome is on record. */
  private run(attempt: Attempt, context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const running = this.contextOf(context, attempt.policy, attempt);
    const handlerEnd = new HandlerEnd();
    this.http.platform.hold(http.getRequest(), http.getResponse(), {
      maxBytes: attempt.policy.maxResponseBytes,
      handlerEnd,
      settle: (observed) => this.settle(attempt, observed, running.route),
    });
    const ended = (error?: unknown) => {
      attempt.error = error;
      const busy = this.untilIdle(running);
      if (busy) void busy.then(handlerEnd.tell);
      else handlerEnd.tell();
    };
    return within(running, next, ended, () => answered(http.getRequest()));
  }

  /**
   * The chain is through, the work may not be: an interceptor gave up waiting for
   * the handler (a time-out), or a phase was not awaited. As long as it goes on,
   * the key stays taken; a retry would run beside it.
   */
  private untilIdle(context: RequestContext): Promise<void> | undefined {
    const { handler } = context.attempt ?? {};
    return handler ? handler.then(() => closePhases(context)) : closePhases(context);
  }

  private settle(attempt: Attempt, observed: ObservedAnswer, route: string): Promise<Verdict> {
    return this.recorder.record(attempt, observed).then(
      (recorded) => this.verdict(attempt, observed.status, recorded),
      (error: unknown) => playDead(error) ?? this.refusal(error, route),
    );
  }

  private verdict(
    attempt: Attempt,
    status: number,
    { parked, final, expiresAt }: Recorded,
  ): Verdict {
    if (parked) return { kind: 'replace', answer: this.accepted(attempt) };
    const headers = final ? finalHeaders(status, expiresAt, this.settings.dialect) : {};
    return { kind: 'release', headers };
  }

  private refusal(error: unknown, route: string): Verdict {
    const problem = problemOf(error) ?? unrecorded(error);
    this.refusals.note(problem, error, route);
    return { kind: 'replace', answer: this.render(problem) };
  }

  private contextOf(
    context: ExecutionContext,
    { phased }: ResolvedPolicy,
    attempt?: Attempt,
  ): RequestContext {
    return {
      attempt,
      journal: new PhaseJournal(attempt?.recorded),
      route: routeName(context),
      guard: this.settings.guard,
      phased,
      transactions: requestContext.surroundings?.transactions ?? new OpenTransactions(),
    };
  }

  private clientOf(context: ExecutionContext): Client {
    return this.http.platform.client(context.switchToHttp().getResponse());
  }

  private accepted({ id, runningFor = 0 }: { id: string; runningFor?: number }): Answer {
    return acceptedAnswer({ runningFor }, this.statusLocation.of(id));
  }

  private render(problem: IdempotencyProblem): Answer {
    return renderProblem(problem, this.settings);
  }

  private answer(context: ExecutionContext, answer: Answer): Observable<unknown> {
    const http = context.switchToHttp();
    this.http.platform.send(http.getResponse(), answer);
    return answered(http.getRequest());
  }
}

/** A callback of the policy threw: the attempt stays unrecorded, so its answer must not leave. */
function unrecorded(error: unknown): IdempotencyProblem {
  new Logger('IdempotencyModule').error(
    `An idempotent request ended without a record, so its answer was held back: ${errorLine(error)}`,
    errorFrames(error),
  );
  return storeUnavailable('The request was processed, but its outcome could not be recorded.');
}

/**
 * Runs the rest of the chain in a request context. Unsubscribing does not reach
 * it: a client that leaves must not stop work that is half done.
 */
function within(
  context: RequestContext,
  next: CallHandler,
  ended: (error?: unknown) => void,
  parked?: () => Observable<unknown>,
): Observable<unknown> {
  return new Observable((subscriber) => {
    requestContext.run(context, () => {
      const running = next.handle().subscribe({
        next: (value) => subscriber.next(value),
        error: (error: unknown) => {
          ended(error);
          subscriber.error(error);
        },
        complete: () => {
          ended();
          subscriber.complete();
        },
      });
      if (!context.attempt || !parked) return;
      // The handler has left its operation to a worker. There is neither a value nor
      // an error then, for interceptors or filters to deal with.
      context.attempt.onParked = () => {
        running.unsubscribe();
        ended();
        parked().subscribe(subscriber);
      };
    });
  });
}

/** Controller and method, for messages. */
function routeName(context: ExecutionContext): string {
  return `${context.getClass().name}.${context.getHandler().name}`;
}

/** PUT and DELETE are idempotent by HTTP's own rules: a key is welcome there, not demanded. */
function needsKey({ policy, demandsKey }: IdempotentRoute, method: string): boolean {
  return isIdempotent(method) ? demandsKey : policy.required;
}
