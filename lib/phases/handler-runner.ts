import type { Attempt } from '../keys/attempt.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { HandlerRun } from './handler-run.js';
import { OpenTransactions } from './open-transactions.js';
import { PhaseJournal } from './phase-journal.js';
import { aroundPhasedRoute, withoutConnection } from './phase-refusals.js';
import { requestContext, type RequestContext } from './request-context.js';
import type { TransactionWatch } from './transaction-watch.js';
import type { UsageGuard } from './usage-guard.js';

/** A class, because it lives as long as its request: see "Garbage collection" in bench/README.md. */
class HandlerContext implements RequestContext {
  readonly journal: PhaseJournal;
  readonly unguarded = false;
  readonly unprotected = false;
  readonly phase = undefined;

  constructor(
    readonly attempt: Attempt | undefined,
    readonly route: string,
    readonly guard: UsageGuard,
    readonly phased: boolean,
    readonly transactions: OpenTransactions,
  ) {
    this.journal = new PhaseJournal(attempt, phased);
  }
}

/** Prepares the runs of handlers: their request contexts, and the check for open transactions. */
export class HandlerRunner {
  constructor(
    private readonly guard: UsageGuard,
    private readonly transactions: TransactionWatch,
  ) {}

  /**
   * Each phase would refuse to run inside a transaction of the request. This is
   * checked before the key is reserved, which needs a connection.
   *
   * @param route controller and method, for messages
   */
  refuseOpenTransaction(route: string, { phased }: ResolvedPolicy): void {
    if (phased && this.transactions.isInside) throw aroundPhasedRoute(route);
  }

  /** @param attempt undefined if the request has no key, and needs none */
  prepare(route: string, { phased }: ResolvedPolicy, attempt?: Attempt): HandlerRun {
    const transactions = requestContext.surroundings?.transactions ?? new OpenTransactions();
    return new HandlerRun(new HandlerContext(attempt, route, this.guard, phased, transactions));
  }

  /**
   * If the application itself holds the connections that a reservation could not
   * get, the log says so.
   */
  explain(error: unknown, route: string): void {
    if (!(error instanceof StoreUnavailableError) || !this.transactions.isInside) return;
    this.guard.warnOnce(`${route} without connection`, withoutConnection(route));
  }
}
