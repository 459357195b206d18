import { fromJson } from '../phases/json.js';
import type { MessageLease, StoredMessage } from './outbox-store.js';
import type { DeliveredMessage, OutboxTransport } from './outbox-transport.js';

/** How a delivery ended, as far as this process may say. */
export type DeliveryOutcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; error: unknown }
  /** The message is not ours any more, or is given back: nothing is to be noted. */
  | { kind: 'abandoned' };

/** One message on its way, from its claim to the note about its end. */
export class Delivery implements MessageLease {
  readonly id: string;
  /** The transport is through with it, or is not waited for; only the record of it is missing. */
  ended = false;
  private readonly abandonment = new AbortController();

  constructor(
    readonly message: StoredMessage,
    readonly token: string,
  ) {
    this.id = message.id;
  }

  get abandoned(): boolean {
    return this.abandonment.signal.aborted;
  }

  abandon(reason: string): void {
    this.abandonment.abort(new Error(reason));
  }

  /**
   * Hands the message to the transport. One that takes longer than `maxRunTime`,
   * or is abandoned, is not waited for: it may never end.
   */
  async attempt(transport: OutboxTransport, maxRunTime: number): Promise<DeliveryOutcome> {
    const overdue = new AbortController();
    const timer = setTimeout(() => {
      overdue.abort(new Error(`The delivery took longer than ${maxRunTime} ms (maxRunTime).`));
    }, maxRunTime).unref();
    const signal = AbortSignal.any([this.abandonment.signal, overdue.signal]);
    try {
      await Promise.race([deliver(transport, this.delivered(signal)), failing(signal)]);
      return { kind: 'delivered' };
    } catch (error) {
      if (this.abandoned) return { kind: 'abandoned' };
      return { kind: 'failed', error: overdue.signal.aborted ? overdue.signal.reason : error };
    } finally {
      clearTimeout(timer);
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

/** A transport that throws before it returns a promise fails as one that rejects. */
async function deliver(transport: OutboxTransport, message: DeliveredMessage): Promise<void> {
  await transport.deliver(message);
}

function failing(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(signal.reason as Error);
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}
