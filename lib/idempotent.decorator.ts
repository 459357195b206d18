import { UseInterceptors } from '@nestjs/common';
import { isObservable, lastValueFrom } from 'rxjs';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import type { IdempotencyPolicy } from './policy/policy.js';
import { isForClass } from './policy/handler-kinds.js';
import { isCovered, markCovered, setPolicy } from './policy/idempotent-metadata.js';
import type { Attempt } from './keys/attempt.js';
import { PhaseUsageError } from './policy/phase-errors.js';
import { OpenTransactions } from './phases/open-transactions.js';
import { requestContext } from './phases/request-context.js';

type Handler = (...args: any[]) => unknown;

/**
 * Makes a route, a message handler or a GraphQL mutation idempotent under the key of
 * its request. On a class it covers the POST, PATCH and `@All()` routes, the message
 * and event handlers and the mutations; a handler's own policy overrides the class's,
 * and the class's overrides the module's, field by field. Anywhere else it is an error
 * at boot, and also on a route that changes nothing (GET).
 */
export function Idempotent(policy: IdempotencyPolicy = {}): ClassDecorator & MethodDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (property !== undefined && descriptor !== undefined) {
      coverHandler(target, property, descriptor);
      setPolicy(descriptor.value as Handler, policy);
      return;
    }
    setPolicy(target, policy);
    coverClass((target as { prototype: object }).prototype);
  };
}

/** Inherited routes count as the class's own, as they do for Nest's router. */
function coverClass(prototype: object): void {
  const seen = new Set<string | symbol>();
  for (
    let at: object | null = prototype;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    for (const property of Reflect.ownKeys(at)) {
      if (property === 'constructor' || seen.has(property)) continue;
      seen.add(property);
      const descriptor = Object.getOwnPropertyDescriptor(at, property)!;
      const handler: unknown = descriptor.value;
      if (typeof handler !== 'function' || isCovered(handler) || !isForClass(handler)) continue;
      coverHandler(prototype, property, descriptor);
      Object.defineProperty(prototype, property, descriptor);
    }
  }
}

/**
 * Puts a thin wrapper around the handler. It records that the handler began,
 * because an error of a pipe looks just like an error of the handler; and it
 * turns an Observable into a promise, because Nest unsubscribes when the client
 * leaves, which would stop the work halfway.
 */
function coverHandler(
  target: object,
  property: string | symbol,
  descriptor: PropertyDescriptor,
): void {
  const handler = descriptor.value as Handler;
  if (isCovered(handler)) return;
  const where = `${target.constructor.name}.${handler.name}`;

  function idempotentHandler(this: unknown, ...args: unknown[]): unknown {
    const context = requestContext.current;
    if (!context) return withoutPhases(where, () => handler.apply(this, args));
    const { attempt } = context;
    if (attempt) attempt.began = true;
    const result = handler.apply(this, args);
    if (!attempt) return result;
    // Only promises: calling `then` of a lazy query builder would run it.
    const last = result instanceof Promise ? result.then(lastValue) : lastValue(result);
    if (!(last instanceof Promise)) return checkLeftToWorker(attempt, last, where);
    const ended = () => void (attempt.handler = undefined);
    attempt.handler = last.then(ended, ended);
    if (attempt.policy.run !== 'background') return last;
    return last.then(
      (value) => checkLeftToWorker(attempt, value, where),
      (error: unknown) => endLeftToWorker(attempt, error),
    );
  }
  Object.defineProperty(idempotentHandler, 'name', { value: handler.name });
  Object.defineProperty(idempotentHandler, 'length', { value: handler.length });
  // Other decorators, above or below, have put their metadata on the handler.
  for (const key of Reflect.getMetadataKeys(handler) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), idempotentHandler);
  }
  markCovered(idempotentHandler);
  descriptor.value = idempotentHandler;
  UseInterceptors(IdempotencyInterceptor)(target, property, descriptor);
}

/**
 * A handler of `run: 'background'` that did its work in the request has made its
 * client wait, unprotected.
 */
function checkLeftToWorker(attempt: Attempt, value: unknown, where: string): unknown {
  const { policy, leftToWorker, operation, inBackground } = attempt;
  if (policy.run !== 'background' || leftToWorker || operation !== undefined || inBackground)
    return value;
  throw new PhaseUsageError(
    `${where} has run: 'background', but it called no @Resumable() method, so there is nothing for a worker to do: it ran in the request. ` +
      "Put its work into a provider's method with @Resumable('some.name'), and call it from the handler; or remove run: 'background'.",
  );
}

/**
 * Leaving the operation to a worker ends the handler by an exception, which
 * nobody else may see.
 */
function endLeftToWorker(attempt: Attempt, error: unknown): Promise<never> {
  if (!attempt.leftToWorker || !attempt.onLeftToWorker) throw error;
  // After `attempt.handler` knows that the handler has ended.
  process.nextTick(attempt.onLeftToWorker);
  return new Promise<never>(() => undefined);
}

/**
 * Called outside a request, such as by a unit test: if a phase starts, it throws
 * an error that says so.
 */
function withoutPhases<T>(name: string, work: () => T): T {
  return requestContext.surround(
    {
      transactions: requestContext.surroundings?.transactions ?? new OpenTransactions(),
      withoutPhases: { kind: 'call', name },
    },
    work,
  );
}

/** The last value of an Observable, which Nest would send. */
function lastValue(result: unknown): unknown {
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}
