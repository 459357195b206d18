import { requestContext } from './request-context.js';
import { PhaseUsageError } from '../policy/phase-errors.js';

/** The error of a phase that starts outside an idempotent handler, by its reason. */
export function outsideAnyHandler(phase: string): PhaseUsageError {
  const { current, surroundings } = requestContext;
  if (current) {
    return new PhaseUsageError(
      `Phase "${phase}" was started after ${current.route} had answered, so its request can no longer be resumed. ` +
        'Await everything the handler starts; what is left to a timer, an event or a promise that nobody awaits is not part of the request. ' +
        'For work that may come later, add a message to the Outbox in a phase.',
    );
  }
  const { kind, name } = surroundings?.withoutPhases ?? {};
  if (kind === 'message') {
    return new PhaseUsageError(
      `Phase "${phase}" was started in ${name}, a message handler. Phases belong to the Idempotency-Key of an HTTP request, and a message has none: nobody would resume them. ` +
        'Write in a transaction of your own, together with the id of the message, so that a second delivery finds it done; or start the work with an idempotent POST route.',
    );
  }
  if (kind === 'call') {
    return new PhaseUsageError(
      `Phase "${phase}" was started in ${name}, which has @Idempotent() but was not called by a request that @Idempotent() covers: it covers routes, message handlers and mutations that Nest calls. ` +
        'A direct call, as in a unit test, has no Idempotency-Key: send a request, or use FakeAtomicPhase of nestjs-atomic-idempotency/testing there.',
    );
  }
  return new PhaseUsageError(
    `Phase "${phase}" was started outside an idempotent handler: the running code is not part of a request with @Idempotent(). ` +
      'Put @Idempotent() on the route or the message handler; around a job, a timer or any other function use Idempotency.run().',
  );
}

export function insideOpenTransaction(phase: string, route: string): PhaseUsageError {
  return new PhaseUsageError(
    `Phase "${phase}" of ${route} was started inside an open transaction of the same request. A phase opens its own transaction: it would stay when yours rolls back, and it would wait for a second connection while yours holds one. ` +
      REMOVE,
  );
}

/** The same, before a phased handler begins: all its effects are phases. */
export function aroundPhasedRoute(route: string): PhaseUsageError {
  return new PhaseUsageError(
    `${route} is phased, but its request has a transaction open already (from middleware, a guard or an interceptor). Each phase opens its own transaction: it would stay when yours rolls back, and it would wait for a second connection while yours holds one. ` +
      REMOVE,
  );
}

/** Why a key could not be reserved, if the cause is in the application; for the log. */
export function withoutConnection(route: string): string {
  return (
    `No key could be reserved for ${route}: the database did not answer in time, while the request had a transaction open already (from middleware, a guard or an interceptor). ` +
    'Such a request needs two connections, one for its transaction and one for its key; when all of the pool are held by transactions, every request waits. Begin the transaction in the handler, or enlarge the pool.'
  );
}

const REMOVE =
  'Remove the transaction around it (dataSource.transaction(), startTransaction(), @Transactional()), and write through the tx that the phase hands to your callback.';
