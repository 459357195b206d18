import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import { entryKindOf, entryNamesOf, TRANSPORT_METADATA } from './policy/handler-kinds.js';
import { policyOf } from './policy/idempotent-metadata.js';

/** Nest's number for RabbitMQ. */
const RMQ = 5;

interface EventHandler {
  name: string;
  settles: boolean;
}

/**
 * All handlers of each event, idempotent or not. Nest hands an event to every one of
 * them, and RabbitMQ wants to hear of its message once, when all are through.
 */
export class EventHandlers {
  private readonly byPattern = new Map<string, Map<object, EventHandler>>();

  meet(owner: Function, handler: Function): void {
    if (entryKindOf(handler) !== 'event') return;
    const transport: unknown = Reflect.getMetadata(TRANSPORT_METADATA, handler);
    if (transport !== undefined && transport !== RMQ) return;
    const settles = policyOf(handler)?.settle ?? policyOf(owner)?.settle ?? false;
    for (const pattern of entryNamesOf(handler)) {
      const handlers = this.byPattern.get(pattern) ?? new Map<object, EventHandler>();
      handlers.set(handler, { name: `${owner.name}.${handler.name}`, settles });
      this.byPattern.set(pattern, handlers);
    }
  }

  /** By pattern, for a handler of these patterns. */
  counts(patterns: readonly string[]): Map<string, number> {
    return new Map(patterns.map((pattern) => [pattern, this.byPattern.get(pattern)?.size ?? 1]));
  }

  /** A handler that does not say when it is through cannot be waited for. */
  refuseHalfSettled(): void {
    for (const [pattern, handlers] of this.byPattern) {
      const [silent] = [...handlers.values()].filter(({ settles }) => !settles);
      const [settling] = [...handlers.values()].filter(({ settles }) => settles);
      if (!silent || !settling) continue;
      throw new IdempotencyConfigurationError(
        `@Idempotent() of ${settling.name}: it has settle: true, and ${silent.name}, which gets the same messages (${pattern}), does not, so a message would be acknowledged before both are through with it. Give both settle: true, or neither.`,
      );
    }
  }
}
