import { Injectable } from '@nestjs/common';
import type { ObservedAnswer } from '../answers/answer.js';
import { mortal, playDead } from '../faults/fault-points.js';
import type { Attempt } from '../keys/attempt.js';
import type { Decision } from '../keys/decision.js';
import { KeyService } from '../keys/key-service.js';
import { problemOf, refusalOf } from '../keys/refusal.js';
import { HandlerRunner } from '../phases/handler-runner.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { KeyedRequest } from '../request/request-reader.js';
import { fromJson, toJson } from '../schema/json.js';
import { answerOfError, answerOfValue, valueOf, WITHOUT_VALUE } from './recorded-value.js';
import { IdempotencyRefusedError } from './refused-call.error.js';

/** How a call ended. */
export interface CallResult {
  value: unknown;
  /** An earlier call with the same key had recorded it. */
  replayed: boolean;
}

type Work = () => unknown;

/**
 * The protocol around any function, top to bottom: decide, run or replay or refuse,
 * record, return. It is the interceptor's, with a value in place of an HTTP answer.
 */
@Injectable()
export class CallRunner {
  constructor(
    private readonly keys: KeyService,
    private readonly handlers: HandlerRunner,
  ) {}

  async run(request: KeyedRequest, policy: ResolvedPolicy, work: Work): Promise<CallResult> {
    const { observed } = request;
    this.handlers.refuseOpenTransaction(observed.route, policy);
    observed.name = request;
    observed.begin();
    const decision = await this.decide(request, policy);
    switch (decision.kind) {
      case 'run':
        return { value: await this.attempt(decision.attempt, policy, work), replayed: false };
      case 'replay':
        observed.answered('replayed');
        return { value: valueOf(decision.answer), replayed: true };
      case 'accepted':
        // A worker is at it; whoever calls again gets its result.
        return this.refuse(
          request,
          refusalOf({ kind: 'inProgress', id: decision.id, runningFor: decision.runningFor }),
        );
      default:
        return this.refuse(request, refusalOf(decision));
    }
  }

  private async decide(request: KeyedRequest, policy: ResolvedPolicy): Promise<Decision> {
    try {
      return await this.keys.decide(request, policy, undefined);
    } catch (error) {
      this.handlers.explain(error, request.observed.route);
      return this.refuse(request, error);
    }
  }

  private async attempt(attempt: Attempt, policy: ResolvedPolicy, work: Work): Promise<unknown> {
    const { maxResponseBytes } = policy;
    const { route } = attempt.observed;
    attempt.began = true;
    let value: unknown;
    try {
      value = await this.handlers.prepare(route, policy, attempt).call(work);
    } catch (error) {
      const dead = playDead(error);
      if (dead) return dead;
      attempt.error = error;
      await this.record(attempt, answerOfError(error, maxResponseBytes), error);
      throw error;
    }
    let json: string | undefined;
    try {
      json = toJson(value, `The result of ${route}`);
    } catch (error) {
      await this.record(attempt, WITHOUT_VALUE, error);
      throw error;
    }
    await this.record(attempt, answerOfValue(json, maxResponseBytes));
    // Through JSON the first time as well, so that nobody comes to depend on what a replay has not.
    return fromJson(json);
  }

  /** Recorded before returned. @param cause what the work threw */
  private async record(attempt: Attempt, answer: ObservedAnswer, cause?: unknown): Promise<void> {
    const { observed } = attempt;
    try {
      const { outcome } = await mortal(() => this.keys.record(attempt, answer));
      observed.answered(outcome);
    } catch (error) {
      this.refuse({ observed }, error, cause);
    }
  }

  /** An error of ours under its public name; one of the application's own is thrown as it is. */
  private refuse(
    { observed }: Pick<KeyedRequest, 'observed'>,
    error: unknown,
    cause: unknown = error,
  ): never {
    const problem = problemOf(error);
    if (!problem) {
      observed.answered('failed');
      throw error;
    }
    observed.refused(problem.code);
    observed.answered('refused');
    throw new IdempotencyRefusedError(problem, observed.route, { cause });
  }
}
