import type { RequestContext } from '../../phases/request-context.js';

/** Which part of the user's code does something. */
export type Where =
  /** In the transaction of a phase. */
  | 'transaction'
  /** In the call of a foreign phase. */
  | 'call'
  /** In the handler, between or without phases. */
  | 'outside'
  /** In atomicPhase.unprotected(). */
  | 'unprotected'
  /** The handler is through. */
  | 'after_answer'
  /** A handler of the outbox, which is no part of a request. */
  | 'delivery'
  /** The library, or a reconciler that it asks. */
  | 'library';

export function whereIs(context: RequestContext): Where {
  if (context.unprotected) return 'unprotected';
  if (context.unguarded) return 'library';
  if (context.phase) return context.phase.queryRunner ? 'transaction' : 'call';
  return context.journal.closed ? 'after_answer' : 'outside';
}
