import { fromJson } from '../schema/json.js';
import type { OfMessage } from '../telemetry/events.js';
import type { MessageLease } from './delivery-store.js';
import type { StoredMessage } from './message-statements.js';
import type { DeliveredMessage, OutboxTransport } from './outbox-transport.js';

/** The outcome of a delivery, as far as this process may decide it. */
export type DeliveryOutcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; error: unknown }
  /** The lease is lost, or the message was given back: nothing is recorded. */
  | { kind: 'dropped' };

/** One delivery of a message, from its claim to its recorded outcome. */
export class Delivery implements MessageLease {
  readonly scope: string;
  readonly id: string;
  /** By performance.now(). */
  private readonly startedAt = performance.now();
  /** The transport has ended, or is not waited for; only the outcome has to be recorded. */
  ended = false;
  private wasAbandoned = false;
  /** Its reason is an `OverdueError`, or why the delivery was dropped. */
  private readonly stop = new AbortController();

  constructor(
    readonly message: StoredMessage,
    readonly token: string,
  ) {
    this.scope = message.scope;
    this.id = message.id;
  }

  /** How events describe it. */
  get described(): OfMessage & { duration: number } {
    const { id, topic, attempts } = this.message;
    return { id, topic, attempt: attempts, duration: performance.now() - this.startedAt };
  }

  get dropped(): boolean {
    return this.wasAbandoned;
  }

  abandon(reason: string): void {
    this.wasAbandoned = true;
    this.stop.abort(new Error(reason));
  }

  /**
   * Hands the message to the transport. A delivery that takes longer than
   * `maxRunTime`, or is dropped, is not waited for: it may never end.
   */
  async attempt(transport: OutboxTransport, maxRunTime: number): Promise<DeliveryOutcome> {
    const { fault } = this.message;
    if (fault) {
      this.ended = true;
      return { kind: 'failed', error: fault };
    }
    const { signal } = this.stop;
    const timer = setTimeout(() => this.stop.abort(new OverdueError(maxRunTime)), maxRunTime);
    timer.unref();
    const stopped = whenAborted(signal);
    try {
      await Promise.race([deliver(transport, this.delivered(signal)), stopped.promise]);
      return { kind: 'delivered' };
    } catch (error) {
      if (this.dropped) return { kind: 'dropped' };
      return {
        kind: 'failed',
        error: signal.reason instanceof OverdueError ? signal.reason : error,
      };
    } finally {
      clearTimeout(timer);
      stopped.forget();
      this.ended = true;
    }
  }

  private delivered(signal: AbortSignal): DeliveredMessage {
    const { id, topic, payload, orderingKey, attempts, createdAt } = this.message;
    return {
      id,
      topic,
      payload: fromJson(payload ?? undefined),
      orderingKey: orderingKey ?? undefined,
      attempt: attempts,
      createdAt,
      signal,
    };
  }
}

class OverdueError extends Error {
  constructor(maxRunTime: number) {
    super(`The delivery took longer than ${maxRunTime} ms (maxRunTime).`);
  }
}

/** A transport that throws before it returns a promise fails as one that rejects. */
async function deliver(transport: OutboxTransport, message: DeliveredMessage): Promise<void> {
  await transport.deliver(message);
}

/** A promise that rejects with the reason of an abort, and a function that removes its listener. */
function whenAborted(signal: AbortSignal): { promise: Promise<never>; forget: () => void } {
  let fail!: () => void;
  const promise = new Promise<never>((_, reject) => {
    fail = () => reject(signal.reason as Error);
  });
  if (signal.aborted) fail();
  else signal.addEventListener('abort', fail, { once: true });
  // A listener that is not removed would keep the delivery and its message in memory.
  return { promise, forget: () => signal.removeEventListener('abort', fail) };
}
