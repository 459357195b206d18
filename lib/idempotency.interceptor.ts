import {
  Inject,
  Injectable,
  Optional,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { Observable } from 'rxjs';
import type { AnswerToSend, ObservedAnswer } from './answers/answer.js';
import { playDead } from './faults/fault-points.js';
import { HttpExchanges, type HttpExchange } from './http-exchange.js';
import { IdempotentRoutes, type IdempotentRoute } from './idempotency.routes.js';
import type { Attempt } from './keys/attempt.js';
import { KeyService } from './keys/key-service.js';
import { missingModule } from './missing-module.js';
import { OtherEntries } from './other-entries.js';
import { HandlerRunner } from './phases/handler-runner.js';
import { IMPORTED } from './tokens.js';

/**
 * The protocol from top to bottom: key, scope and fingerprint, decide, run or
 * replay or refuse, record, send. For messages and mutations it is the same, with a
 * value in place of an HTTP answer: see CallRunner.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  /**
   * Nest builds it in the module of each controller. The dependencies are
   * optional, so that a module that does not import the library's gets an error
   * that names the cure. If a dependency itself has failed, its own error ends
   * the boot.
   */
  constructor(
    @Optional() readonly routes: IdempotentRoutes,
    @Optional() private readonly http: HttpExchanges,
    @Optional() private readonly keys: KeyService,
    @Optional() private readonly handlers: HandlerRunner,
    @Optional() private readonly others: OtherEntries,
    @Optional() @Inject(IMPORTED) imported: true | undefined,
    modules: ModulesContainer,
  ) {
    if (!imported) throw missingModule(IdempotencyInterceptor, modules);
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    if (context.getType() !== 'http') return this.others.intercept(context, next);
    const route = this.routes.find(context);
    const exchange = route && this.http.of(context, route);
    if (!exchange) return next.handle();
    this.handlers.refuseOpenTransaction(route.name, route.policy);

    try {
      const key = exchange.readKey();
      if (key === undefined) return this.handlers.prepare(route.name, route.policy).start(next);

      const request = await exchange.identify(key);
      const decision = await this.keys.decide(request, route.policy, exchange.client);
      return decision.kind === 'run'
        ? this.run(decision.attempt, route, exchange, next)
        : exchange.answer(decision);
    } catch (error) {
      this.handlers.explain(error, route.name);
      return exchange.refuse(error);
    }
  }

  /** Runs the handler and holds its answer until the outcome is recorded. */
  private run(
    attempt: Attempt,
    route: IdempotentRoute,
    exchange: HttpExchange,
    next: CallHandler,
  ): Observable<unknown> {
    const handler = this.handlers.prepare(route.name, route.policy, attempt);
    exchange.hold(handler.end, (observed) => this.record(attempt, observed, exchange));
    return handler.start(next, () => exchange.answered);
  }

  /** Recorded before sent. */
  private async record(
    attempt: Attempt,
    observed: ObservedAnswer,
    exchange: HttpExchange,
  ): Promise<AnswerToSend> {
    try {
      const recorded = await this.keys.record(attempt, observed);
      return exchange.afterRecording(attempt, observed, recorded);
    } catch (error) {
      return playDead(error) ?? exchange.insteadOfUnrecorded(error);
    }
  }
}
