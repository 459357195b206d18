import { Injectable, type CallHandler } from '@nestjs/common';
import { lastValueFrom, type Observable } from 'rxjs';
import type { ObservedAnswer } from '../answers/answer.js';
import { mortal, playDead } from '../faults/fault-points.js';
import type { Attempt } from '../keys/attempt.js';
import type { Decision } from '../keys/decision.js';
import { KeyService } from '../keys/key-service.js';
import { problemOf, refusalOf } from '../keys/refusal.js';
import { HandlerRunner } from '../phases/handler-runner.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import type { AttemptOutcome } from '../telemetry/events.js';
import type { KeyedRequest } from '../request/request-reader.js';
import type { DefiniteErrors } from './definite-errors.js';
import {
  answerOfError,
  answerOfValue,
  endOf,
  JSON_VALUES,
  WITHOUT_VALUE,
  type RecordedValues,
} from './recorded-value.js';
import { IdempotencyRefusedError } from './refused-call.error.js';

/** How a call ended. */
export type CallEnd = {
  /** An earlier call with the same key had recorded it. */
  replayed: boolean;
} & ({ value: unknown } | FailedCall);

export interface FailedCall {
  error: unknown;
  /** It is on record, and every further call gets it. */
  final: boolean;
  outcome: AttemptOutcome;
  /** Which attempt it was; of a replay, any. */
  attempt: number;
}

/** A call that is let in by a decorated handler of Nest. */
export interface HandledCall {
  request: KeyedRequest;
  policy: ResolvedPolicy;
  next: CallHandler;
  /** Errors that its transport has for definite answers. An HttpException always is one. */
  errors?: DefiniteErrors;
  /** How its result is kept. @default as JSON has it */
  values?: RecordedValues;
  /** Nobody gets its result, so none is kept. */
  withoutResult?: boolean;
}

type Work = () => unknown;

interface Run {
  policy: ResolvedPolicy;
  work: Work;
  errors?: DefiniteErrors | undefined;
  values?: RecordedValues | undefined;
  withoutResult?: boolean | undefined;
  /** The decorated handler says itself that it began: a pipe may refuse the call before it. */
  decorated?: boolean;
}

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

  /** Around a plain function. */
  async run(request: KeyedRequest, policy: ResolvedPolicy, work: Work): Promise<unknown> {
    const end = await this.perform(request, { policy, work });
    if ('error' in end) throw end.error;
    return end.value;
  }

  /** Around a handler of Nest and the pipes and interceptors in front of it: the last value counts. */
  handle({ request, next, ...run }: HandledCall): Promise<CallEnd> {
    const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return this.perform(request, { ...run, work, decorated: true });
  }

  /** The same without a key, where none is needed: there is nothing to record. */
  unkeyed(route: string, policy: ResolvedPolicy, next: CallHandler): Observable<unknown> {
    this.handlers.refuseOpenTransaction(route, policy);
    return this.handlers.prepare(route, policy).start(next);
  }

  private async perform(request: KeyedRequest, run: Run): Promise<CallEnd> {
    const { observed } = request;
    this.handlers.refuseOpenTransaction(observed.route, run.policy);
    observed.name = request;
    observed.begin();
    const decision = await this.decide(request, run.policy);
    switch (decision.kind) {
      case 'run':
        return this.attempt(decision.attempt, run);
      case 'replay':
        observed.answered('replayed');
        return { ...endOf(decision.answer, run), replayed: true };
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

  private async attempt(attempt: Attempt, run: Run): Promise<CallEnd> {
    const { policy, work, errors, withoutResult, values = JSON_VALUES } = run;
    const { maxResponseBytes } = policy;
    const { route } = attempt.observed;
    if (!run.decorated) attempt.began = true;
    let value: unknown;
    try {
      value = await this.handlers.prepare(route, policy, attempt).call(work);
    } catch (error) {
      const dead = playDead(error);
      if (dead) return dead;
      attempt.error = error;
      const answer = answerOfError(error, maxResponseBytes, errors);
      const recorded = await this.record(attempt, answer, error);
      return { error, ...recorded, attempt: attempt.number, replayed: false };
    }
    let json: string | undefined;
    try {
      if (!withoutResult) json = values.toJson(value, `The result of ${route}`);
    } catch (error) {
      const recorded = await this.record(attempt, WITHOUT_VALUE, error);
      return { error, ...recorded, attempt: attempt.number, replayed: false };
    }
    await this.record(attempt, answerOfValue(json, maxResponseBytes));
    // Through JSON the first time as well, so that nobody comes to depend on what a replay has not.
    return { value: values.fromJson(json), replayed: false };
  }

  /** Recorded before returned. @param cause what the work threw */
  private async record(
    attempt: Attempt,
    answer: ObservedAnswer,
    cause?: unknown,
  ): Promise<Pick<FailedCall, 'outcome' | 'final'>> {
    const { observed } = attempt;
    try {
      const { outcome, final } = await mortal(() => this.keys.record(attempt, answer));
      observed.answered(outcome);
      return { outcome, final };
    } catch (error) {
      return this.refuse({ observed }, error, cause);
    }
  }

  /** An error of ours under its public name; one of the application's own is thrown as it is. */
  refuse(
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
