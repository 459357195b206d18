import {
  onIdempotencyEvent,
  type EventName,
  type IdempotencyEvents,
} from 'nestjs-atomic-idempotency';
import { EVENT_NAMES } from '../../lib/telemetry/events.js';

/** All events of this process, from now on. */
export class Heard {
  private readonly events: { name: EventName; event: unknown }[] = [];
  private readonly ends = EVENT_NAMES.map((name) =>
    onIdempotencyEvent(name, (event) => void this.events.push({ name, event })),
  );

  of<Name extends EventName>(name: Name): IdempotencyEvents[Name][] {
    const events = this.events.filter((each) => each.name === name);
    return events.map(({ event }) => event as IdempotencyEvents[Name]);
  }

  /** As text, to look for what must not be in it. */
  get everything(): string {
    return JSON.stringify(this.events);
  }

  clear(): void {
    this.events.length = 0;
  }

  end(): void {
    for (const end of this.ends) end();
  }
}
