import { Injectable, type ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { Answer, AnswerToSend, ObservedAnswer } from './answers/answer.js';
import type { IdempotentRoute } from './idempotency.routes.js';
import type { Attempt } from './keys/attempt.js';
import type { Decision } from './keys/decision.js';
import { DecisionAnswers } from './keys/decision-answers.js';
import type { Recorded } from './keys/recorder.js';
import { isIdempotent, isSafe } from './policy/http-methods.js';
import type { ResolvedPolicy } from './policy/resolve-policy.js';
import type { IncomingRequest } from './request/incoming-request.js';
import { KeyHygiene } from './request/key-hygiene.js';
import { RequestReader, type KeyedRequest, type RoutedRequest } from './request/request-reader.js';
import { answered } from './response/answered.js';
import type { Client } from './response/client.js';
import type { HandlerEnd } from './response/handler-end.js';
import { HoldOptions } from './response/http-platform.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { Observation } from './telemetry/observation.js';

/** Marks a request that has been handled: a second interceptor on the same route does nothing. */
const seen = Symbol('idempotency:seen');
type SeenRequest = IncomingRequest & { [seen]?: boolean };

/** The HTTP side of the protocol. */
@Injectable()
export class HttpExchanges {
  constructor(
    readonly reader: RequestReader,
    readonly host: HttpPlatformHost,
    readonly answers: DecisionAnswers,
    readonly hygiene: KeyHygiene,
  ) {}

  /** Undefined: the method is safe by HTTP's rules, or the request has been handled already. */
  of(context: ExecutionContext, route: IdempotentRoute): HttpExchange | undefined {
    const http = context.switchToHttp();
    const request = http.getRequest<SeenRequest>();
    if (request[seen] || isSafe(request.method)) return undefined;
    request[seen] = true;
    return new HttpExchange(this, route, context, request, http.getResponse());
  }
}

/** One request and its response. */
export class HttpExchange implements RoutedRequest {
  readonly observed: Observation;

  constructor(
    private readonly side: HttpExchanges,
    private readonly route: IdempotentRoute,
    readonly context: ExecutionContext,
    readonly request: IncomingRequest,
    private readonly response: unknown,
  ) {
    this.observed = new Observation(route.name);
  }

  /** Undefined: it has no key, and needs none. */
  readKey(): string | undefined {
    const { demandsKey, policy } = this.route;
    if (policy.skip?.(this.request, this.context)) return undefined;
    // PUT and DELETE are idempotent by HTTP's own rules: a key is used if it is sent, and not
    // required.
    const required = isIdempotent(this.request.method) ? demandsKey : policy.required;
    const key = this.side.reader.key(this.request, this.context, required, policy.key);
    if (policy.hygiene !== 'off' && key !== undefined) {
      this.side.hygiene.check(key, this.route.name, policy);
    }
    return key;
  }

  /** Scope, endpoint and fingerprint. */
  identify(key: string): Promise<KeyedRequest> {
    this.observed.begin();
    return this.side.reader.identify(key, this);
  }

  get pattern(): string {
    return this.platform.routePattern(this.request);
  }

  get policy(): ResolvedPolicy {
    return this.route.policy;
  }

  get ofHost(): boolean {
    return this.route.ofHost;
  }

  /** The client, for a request that waits for another attempt. */
  get client(): Client | undefined {
    const waits = this.policy.onInProgress === 'wait';
    return waits ? this.platform.client(this.response) : undefined;
  }

  /** Sends the answer of a request that does not run. */
  answer(decision: Exclude<Decision, { kind: 'run' }>): Observable<unknown> {
    const answer = this.side.answers.to(decision, this.observed);
    this.observed.answered(outcomeOf(decision));
    return this.send(answer);
  }

  /** Sends the answer for an error of the library; an error of the application is rethrown. */
  refuse(error: unknown): Observable<unknown> {
    const answer = this.side.answers.toError(error, this.observed);
    this.observed.answered(answer ? 'refused' : 'failed');
    if (!answer) throw error;
    return this.send(answer);
  }

  /** Holds the application's answer until `record` says what to send. */
  hold(handlerEnd: HandlerEnd, record: (observed: ObservedAnswer) => Promise<AnswerToSend>): void {
    const options = new HoldOptions(this.policy.maxResponseBytes, handlerEnd, record);
    this.platform.hold(this.request, this.response, options);
  }

  afterRecording(attempt: Attempt, observed: ObservedAnswer, recorded: Recorded): AnswerToSend {
    this.observed.answered(recorded.outcome);
    return this.side.answers.afterRecording(attempt, observed.status, recorded);
  }

  insteadOfUnrecorded(error: unknown): AnswerToSend {
    const answer = this.side.answers.insteadOfUnrecorded(error, this.observed);
    this.observed.answered('refused');
    return answer;
  }

  /** What Nest gets for a request that has been answered. */
  get answered(): Observable<unknown> {
    return answered(this.request);
  }

  private send(answer: Answer): Observable<unknown> {
    this.platform.send(this.response, answer);
    return this.answered;
  }

  private get platform() {
    return this.side.host.platform;
  }
}

function outcomeOf({ kind }: Exclude<Decision, { kind: 'run' }>) {
  if (kind === 'replay') return 'replayed';
  return kind === 'accepted' ? 'accepted' : 'refused';
}
