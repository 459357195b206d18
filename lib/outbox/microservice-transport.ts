import { fromEvent, lastValueFrom, takeUntil, type Observable } from 'rxjs';
import { recordFor } from './message-record.js';
import type { OutboxTransport } from './outbox-transport.js';

/** The part of Nest's `ClientProxy` that is used here. */
export interface MicroserviceClient {
  send(pattern: string, data: unknown): Observable<unknown>;
}

/**
 * Hands messages to a Nest microservice: the topic is the pattern, and the
 * message counts as delivered when the other side has answered. It does not use
 * `emit()`, which ends as soon as the bytes were sent, although they may be lost. The
 * message has its id in it, and RabbitMQ, Kafka and NATS get it as a header too, where
 * `@Idempotent()` of the other side finds it.
 *
 * @param topics what goes there; without it, all that no handler of this process takes
 */
export function microserviceTransport(
  client: MicroserviceClient,
  topics?: readonly string[],
): OutboxTransport {
  return {
    topics,
    async deliver({ signal, ...message }) {
      const record = await recordFor(client, message);
      signal.throwIfAborted();
      const answer = client.send(message.topic, record);
      await lastValueFrom(answer.pipe(takeUntil(fromEvent(signal, 'abort'))), {
        defaultValue: undefined,
      });
      // An empty answer is not a delivery.
      signal.throwIfAborted();
    },
  };
}
