import type { EntityManager } from 'typeorm';
import { parseDuration } from '../duration.js';
import { mortal } from '../fault-points.js';
import { isConnectionLoss, StoreUnavailableError } from '../keys/database.js';
import { requestContext, type RequestContext } from '../request/request-context.js';
import type { ForeignPhase } from './foreign-phase.js';
import { ForeignRun, type ForeignRunTools } from './foreign-run.js';
import { fromJson, toJson, type Jsonified } from './json.js';
import { PhaseUsageError } from './phase-errors.js';

/** The key and the attempt around the running code. */
export interface CurrentAttempt {
  scope: string;
  key: string;
  /** 1 for the first run, +1 for each takeover. */
  attempt: number;
  /** The last finished phase. */
  recoveryPoint: string;
  /** Fires when the lease is lost: whatever this attempt still does is not kept. */
  signal: AbortSignal;
}

/**
 * Divides the work of an idempotent handler into phases, each of which happens
 * once per key, whatever dies in between. Inject it anywhere; it finds the
 * request it works for by itself.
 *
 * On a route where keys are optional, a request without one runs its phases
 * without recording them, with a random effect key.
 */
export class AtomicPhase {
  constructor(private readonly tools: ForeignRunTools) {}

  /**
   * A phase in this database: what `work` writes through `tx`, its result and
   * the recovery point commit together. On a resume, a finished phase returns
   * its recorded result and `work` does not run.
   *
   * `work` may run more than once before it commits (conflicts and lost
   * connections are retried), so it must act through `tx` only.
   */
  async local<T>(
    recoveryPoint: string,
    work: (tx: EntityManager) => Promise<T>,
  ): Promise<Jsonified<T>> {
    const { attempt, journal } = this.context(recoveryPoint);
    const run = journal.run(recoveryPoint, 'local', async (position, earlier) => {
      if (earlier) return fromJson(earlier.result);
      const place = { journal, attempt, name: recoveryPoint, kind: 'local', position } as const;
      try {
        const result = await this.tools.transactions.commit(place, work);
        if (attempt) attempt.recoveryPoint = recoveryPoint;
        return fromJson(result);
      } catch (error) {
        // Whether it was committed is not known, and a resume will find out.
        const lost = isConnectionLoss(error) || error instanceof StoreUnavailableError;
        if (lost) journal.stopAt(recoveryPoint, 'not_recorded');
        throw error;
      }
    });
    return (await mortal(() => run)) as Jsonified<T>;
  }

  /**
   * A phase in another system, made of one call. The intent is committed before
   * the call and the outcome after it; `record` may add writes of your own to
   * the outcome's transaction. Pass `effect.idempotencyKey` on: it is the same
   * in every attempt.
   */
  async foreign<R, T = R>(recoveryPoint: string, phase: ForeignPhase<R, T>): Promise<Jsonified<T>> {
    const { attempt, journal } = this.context(recoveryPoint);
    const request = toJson(phase.request, `The request of phase "${recoveryPoint}"`);
    const keyValidFor = validity(recoveryPoint, phase.keyValidFor);
    const run = journal.run(recoveryPoint, 'foreign', (position, earlier) => {
      const place = { journal, attempt, name: recoveryPoint, kind: 'foreign', position } as const;
      return new ForeignRun(this.tools, journal, place, phase, request, keyValidFor, earlier).run();
    });
    return (await mortal(() => run)) as Jsonified<T>;
  }

  /** The key and the attempt that the calling code works for, if there is one. */
  get current(): CurrentAttempt | undefined {
    const attempt = requestContext.current?.attempt;
    if (!attempt) return undefined;
    return {
      scope: attempt.scope,
      key: attempt.key,
      attempt: attempt.number,
      recoveryPoint: attempt.recoveryPoint,
      signal: attempt.signal,
    };
  }

  private context(recoveryPoint: string): RequestContext {
    const context = requestContext.current;
    if (context) return context;
    throw new PhaseUsageError(
      `Phase "${recoveryPoint}" was started outside an idempotent handler. Put @Idempotent() on the route, ` +
        'and await everything the handler starts: what goes on after it has answered, or comes from a timer or an event, is not part of the request.',
    );
  }
}

function validity(phase: string, keyValidFor: ForeignPhase<unknown>['keyValidFor']): number | null {
  if (keyValidFor === undefined) return null;
  const parsed = parseDuration(keyValidFor);
  if (parsed !== undefined) return parsed;
  throw new PhaseUsageError(
    `keyValidFor of phase "${phase}" is ${JSON.stringify(keyValidFor)}, which is not a duration. Use milliseconds or text such as '24h'.`,
  );
}
