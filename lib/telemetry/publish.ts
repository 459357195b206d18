import { channel, type Channel } from 'node:diagnostics_channel';
import { debug, debugLine } from './debug-log.js';
import { EVENT_NAMES, type EventName, type IdempotencyEvents } from './events.js';

const PREFIX = 'nestjs-atomic-idempotency:';

// Held here: Node forgets a channel that nobody holds.
const channels = Object.fromEntries(
  EVENT_NAMES.map((name) => [name, channel(PREFIX + name)]),
) as Record<EventName, Channel>;

/**
 * Tells whoever listens what happened: subscribers of the event's channel, and
 * the debug log. While nobody does, it costs the look at one property, and
 * nothing is built.
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

/** For what has to be measured before it can be told. */
export function isObserved(name: EventName): boolean {
  return channels[name].hasSubscribers;
}

/**
 * Calls `listener` for each event of that name, at the place where it happens: a
 * slow listener makes requests slow, and one that throws ends the process, as
 * with any channel of `node:diagnostics_channel`.
 *
 * @returns what ends the subscription
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
