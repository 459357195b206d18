import type { EntityManager } from 'typeorm';
import { parseDuration } from '../duration.js';
import { mortal } from '../fault-points.js';
import { StoreUnavailableError } from '../keys/database.js';
import { requestContext, type RequestContext } from '../request/request-context.js';
import type { ForeignPhase } from './foreign-phase.js';
import { ForeignRun, type ForeignRunTools } from './foreign-run.js';
import { fromJson, toJson, type Jsonified } from './json.js';
import { PhaseUsageError } from './phase-errors.js';
import type { PhaseJournal } from './phase-journal.js';
import type { PhasePlace } from './phase-transactions.js';

/** The key and the attempt around the running code. */
export interface CurrentAttempt {
  /** The id of the key's row, for a column of yours that references it. */
  id: string;
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
    const result = await journal.run(recoveryPoint, 'local', (position, earlier) => {
      if (earlier) return Promise.resolve(earlier.result);
      const place = { journal, attempt, name: recoveryPoint, kind: 'local', position } as const;
      return mortal(() => this.commit(place, work));
    });
    return fromJson(result) as Jsonified<T>;
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
    const result = await journal.run(recoveryPoint, 'foreign', (position, earlier) => {
      const place = { journal, attempt, name: recoveryPoint, kind: 'foreign', position } as const;
      const run = new ForeignRun(this.tools, journal, place, phase, request, keyValidFor, earlier);
      return mortal(() => run.run());
    });
    return result as Jsonified<T>;
  }

  /** The key and the attempt that the calling code works for, if there is one. */
  get current(): CurrentAttempt | undefined {
    const { attempt, journal } = requestContext.current ?? {};
    if (!attempt || journal?.closed) return undefined;
    return {
      id: attempt.id,
      scope: attempt.scope,
      key: attempt.key,
      attempt: attempt.number,
      recoveryPoint: attempt.recoveryPoint,
      signal: attempt.signal,
    };
  }

  private async commit(
    place: PhasePlace & { journal: PhaseJournal },
    work: (tx: EntityManager) => Promise<unknown>,
  ): Promise<string | undefined> {
    const { attempt, journal, name } = place;
    try {
      const result = await this.tools.transactions.commit(place, work);
      if (attempt) attempt.recoveryPoint = name;
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        // Whether it was committed is not known. A resume finds out, so there must be one.
        journal.stopAt(name, 'not_recorded');
        if (attempt) attempt.doubt = { phase: name, repeatable: true };
      }
      throw error;
    }
  }

  private context(recoveryPoint: string): RequestContext {
    const context = requestContext.current;
    // Timers and floating promises keep the context of a handler that is long through.
    if (context && !context.journal.closed) return context;
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
