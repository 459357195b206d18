import { channel, type Channel } from 'node:diagnostics_channel';
import { debug, debugLine } from './debug-log.js';
import { EVENT_NAMES, type EventName, type IdempotencyEvents } from './events.js';

const PREFIX = 'nestjs-atomic-idempotency:';

// Kept here: Node discards a channel that nobody references.
const channels = Object.fromEntries(
  EVENT_NAMES.map((name) => [name, channel(PREFIX + name)]),
) as Record<EventName, Channel>;

/**
 * Publishes an event to the subscribers of its channel and to the debug log.
 * Without a subscriber it reads one property, and no event is built.
 */
export function publish<Name extends EventName>(
  name: Name,
  describe: () => IdempotencyEvents[Name],
): void {
  const events = channels[name];
  if (!events.hasSubscribers && !debug.enabled) return;
  const event = describe();
  if (debug.enabled) debugLine(name, event);
  events.publish(event);
}

/** For values that have to be measured before the event. */
export function isObserved(name: EventName): boolean {
  return channels[name].hasSubscribers;
}

/**
 * Calls `listener` for each event of that name, synchronously: a slow listener
 * slows down requests, and one that throws ends the process, as with any channel
 * of `node:diagnostics_channel`.
 *
 * @returns a function that ends the subscription
 */
export function onIdempotencyEvent<Name extends EventName>(
  name: Name,
  listener: (event: IdempotencyEvents[Name]) => void,
): () => void {
  const receive = (message: unknown) => listener(message as IdempotencyEvents[Name]);
  channels[name].subscribe(receive);
  return () => {
    channels[name].unsubscribe(receive);
  };
}
