import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { map, of, type Observable } from 'rxjs';
import type { CallRunner } from '../calls/call-runner.js';
import type { Entrance, IdempotentEntry } from '../calls/idempotent-entry.js';
import { IdempotencyRefusedError, problemBehind } from '../calls/refused-call.error.js';
import { IdempotencyProblem } from '../answers/problems.js';
import { RefusalLog } from '../keys/refusal-log.js';
import type { HttpPlatformHost } from '../response/http-platform-host.js';
import { Observation } from '../telemetry/observation.js';
import { fromFaithfulJson, toFaithfulJson } from './faithful-json.js';
import { MutationErrors } from './mutation-errors.js';
import type { MutationReader } from './mutation-reader.js';
import { MutationRefusedError } from './mutation-refused.error.js';
import { mutationOf } from './mutation.js';
import { ReplayNotice } from './replay-notice.js';

const VALUES = { toJson: toFaithfulJson, fromJson: fromFaithfulJson };

/** The protocol for mutations: key, decide, run or replay or refuse, record, return the root value. */
export class Mutations implements Entrance {
  private readonly log = new RefusalLog();
  private readonly notice: ReplayNotice;

  constructor(
    private readonly runner: CallRunner,
    private readonly reader: MutationReader,
    http: HttpPlatformHost,
  ) {
    this.notice = new ReplayNotice(http);
  }

  async intercept(
    execution: ExecutionContext,
    entry: IdempotentEntry,
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    const { name, policy } = entry;
    const mutation = mutationOf(execution);
    const observed = new Observation(name);
    try {
      const key = this.reader.key(mutation, entry);
      if (key === undefined) return this.runner.unkeyed(name, policy, next);
      const request = await this.reader.identify(key, mutation, entry, execution, observed);
      const end = await this.runner.handle({
        request,
        policy,
        next: { handle: () => next.handle().pipe(map(thrownIfError)) },
        errors: new MutationErrors(mutation.info.schema),
        values: VALUES,
      });
      this.notice.tell(mutation, end.replayed);
      if ('error' in end) throw end.error;
      return of(end.value);
    } catch (error) {
      throw this.refusalOf(error, observed);
    }
  }

  /** For an error of the library; one of the application stays as it is. */
  private refusalOf(error: unknown, observed: Observation): unknown {
    if (error instanceof IdempotencyRefusedError) {
      const { cause } = error;
      const problem = problemBehind(error);
      this.log.note(problem, cause, observed.route, observed.name?.scope);
      return new MutationRefusedError(problem, { cause });
    }
    if (!(error instanceof IdempotencyProblem)) return error;
    // Before it had a name: the runner has not heard of it.
    observed.refused(error.code);
    observed.answered('refused');
    return new MutationRefusedError(error);
  }
}

/** GraphQL takes an error that a resolver returns for one that it throws. */
function thrownIfError(value: unknown): unknown {
  if (value instanceof Error) throw value;
  return value;
}
