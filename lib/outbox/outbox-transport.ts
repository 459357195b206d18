import { lastValueFrom, type Observable } from 'rxjs';

/** A message as handlers and transports see it. */
export interface DeliveredMessage<T = unknown> {
  /** The same in every delivery: use it as the effect key of what you call. */
  id: string;
  topic: string;
  payload: T;
  /** 1 for the first delivery. */
  attempt: number;
  createdAt: Date;
  /** Fires when the message's lease is lost, and at shutdown. */
  signal: AbortSignal;
}

/** Where messages go. A delivery that throws is tried again. */
export interface OutboxTransport {
  /** What it can deliver; undefined for every topic. */
  readonly topics?: readonly string[];
  deliver(message: DeliveredMessage): Promise<void>;
}

/** The part of Nest's `ClientProxy` that is used here. */
interface MicroserviceClient {
  send(pattern: string, data: unknown): Observable<unknown>;
}

/**
 * Hands messages to a Nest microservice: the topic is the pattern, and the
 * message counts as delivered when the other side has answered.
 */
export function microserviceTransport(client: MicroserviceClient): OutboxTransport {
  return {
    async deliver({ id, topic, payload, attempt }) {
      await lastValueFrom(client.send(topic, { id, payload, attempt }), {
        defaultValue: undefined,
      });
    },
  };
}
