import type { EntityManager } from 'typeorm';
import { parseDuration } from '../policy/duration.js';
import { mortal } from '../faults/fault-points.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { requestContext, type RequestContext } from './request-context.js';
import type { ForeignPhase } from './foreign-phase.js';
import { ForeignRun, type ForeignRunTools } from './foreign-run.js';
import { fromJson, toJson, type Jsonified } from '../schema/json.js';
import { PhaseUsageError } from '../policy/phase-errors.js';
import { insideOpenTransaction, outsideAnyHandler } from './phase-refusals.js';
import type { PhasePlace } from './phase-transactions.js';
import type { TransactionWatch } from './transaction-watch.js';

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
  /** Aborts when the lease is lost: what this attempt does after that is not kept. */
  signal: AbortSignal;
}

/**
 * Divides the work of an idempotent handler into phases, each of which happens
 * once per key, whatever crashes in between. Inject it anywhere; it finds the
 * current request by itself.
 *
 * On a route where keys are optional, a request without one runs its phases
 * without recording them, with a random effect key.
 */
export class AtomicPhase {
  constructor(
    private readonly tools: ForeignRunTools,
    private readonly watch: Pick<TransactionWatch, 'isInside'>,
  ) {}

  /**
   * A phase in this database: what `work` writes through `tx`, its result and the
   * recovery point commit together. On a resume, a finished phase returns its
   * recorded result and `work` does not run.
   *
   * `work` may run more than once before it commits (conflicts are retried, and
   * lost connections up to twice), so it must act through `tx` only. The phase
   * has its own transaction: inside another transaction of the same request, a
   * phase is refused.
   */
  async local<T>(
    recoveryPoint: string,
    work: (tx: EntityManager) => Promise<T>,
  ): Promise<Jsonified<T>> {
    const context = this.context(recoveryPoint);
    const { attempt, journal } = context;
    const result = await journal.run(recoveryPoint, 'local', (position, earlier) => {
      if (earlier) return Promise.resolve(earlier.result);
      const place = { journal, attempt, name: recoveryPoint, kind: 'local', position } as const;
      return requestContext.runUnguarded(context, () => mortal(() => this.commit(place, work)));
    });
    return fromJson(result) as Jsonified<T>;
  }

  /**
   * A phase in another system, made of one call. The intent is committed before
   * the call and the outcome after it; `record` may add writes of your own to
   * the outcome's transaction. Pass `effect.idempotencyKey` on: it is the same
   * in every attempt.
   *
   * On a phased route, a phase without `record` returns while its outcome is being
   * recorded. The next phase and the answer come after it, or are committed with it.
   */
  async foreign<R, T = R>(recoveryPoint: string, phase: ForeignPhase<R, T>): Promise<Jsonified<T>> {
    const context = this.context(recoveryPoint);
    const { attempt, journal } = context;
    const request = toJson(phase.request, `The request of phase "${recoveryPoint}"`);
    const keyValidFor = validity(recoveryPoint, phase.keyValidFor);
    const result = await journal.run(recoveryPoint, 'foreign', (position, earlier) => {
      const place = { journal, attempt, name: recoveryPoint, kind: 'foreign', position } as const;
      const run = new ForeignRun(this.tools, place, phase, request, keyValidFor, earlier);
      return requestContext.runUnguarded(context, () => mortal(() => run.run()));
    });
    return result as Jsonified<T>;
  }

  /**
   * Runs `work` as it is, without a phase and without the library's warnings and
   * errors about that (`foreignCalls`, `phased`): for calls and writes that may
   * be missing or happen again after a crash, such as fetching a token, searching
   * with a POST request, or counting. Nothing of it is recorded.
   */
  unprotected<T>(work: () => T): T {
    const context = requestContext.current;
    return context ? requestContext.runUnguarded(context, work, true) : work();
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

  private commit(
    place: PhasePlace,
    work: (tx: EntityManager) => Promise<unknown>,
  ): Promise<string | undefined> {
    const { attempt, journal, name } = place;
    return this.tools.transactions.commit(place, work).then(
      (result) => {
        if (attempt) attempt.recoveryPoint = name;
        return result;
      },
      (error: unknown) => {
        if (error instanceof StoreUnavailableError) {
          // It is not known whether it was committed. A resume finds out, so there must be one.
          journal.stopAt(name, 'not_recorded');
          if (attempt) attempt.doubt = { phase: name, repeatable: true };
        }
        throw error;
      },
    );
  }

  private context(recoveryPoint: string): RequestContext {
    const context = requestContext.current;
    // Timers and floating promises keep the context of a handler that has long ended.
    if (!context || context.journal.closed) throw outsideAnyHandler(recoveryPoint);
    // The transaction of a running phase is not a mistake; the journal refuses this phase.
    if (!context.journal.busy && this.watch.isInside) {
      throw insideOpenTransaction(recoveryPoint, context.route);
    }
    return context;
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
