import type { ExecutionContext } from '@nestjs/common';
import type { IdempotentEntry } from '../calls/idempotent-entry.js';

/** RabbitMQ's message and channel, as far as they are used here. */
export interface RmqMessage {
  properties: {
    messageId?: unknown;
    replyTo?: unknown;
    headers?: Record<string, unknown> | undefined;
  };
  fields?: { redelivered?: boolean };
}

/** What the contexts of Nest's transports have, each its own part. By shape, because their package need not be installed. */
interface TransportContext {
  /** RabbitMQ */
  getChannelRef?(): RmqChannel;
  /** RabbitMQ and Kafka */
  getMessage?(): unknown;
  /** Kafka */
  getPartition?(): unknown;
  /** NATS */
  getSubject?(): string;
  getHeaders?(): { get(name: string): unknown; keys?(): Iterable<string> } | undefined;
  /** MQTT */
  getPacket?(): { properties?: { userProperties?: Record<string, unknown> } } | undefined;
  /** TCP and Redis */
  getMetadata?(): Record<string, unknown> | undefined;
  /** gRPC's metadata */
  getMap?(): Record<string, unknown>;
}

export interface RmqChannel {
  ack(message: RmqMessage): void;
  nack(message: RmqMessage, allUpTo: boolean, requeue: boolean): void;
  once?(event: 'error', listener: (error: Error & { code?: number }) => void): unknown;
}

/** A message as all transports have it. */
export interface ReceivedMessage {
  readonly transport: 'rmq' | 'kafka' | 'grpc' | 'other';
  readonly payload: unknown;
  /** The transport's context, as handlers get it. */
  readonly context: unknown;
  /** All that is text or can be read as such, by names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** AMQP's property. */
  readonly messageId: string | undefined;
  /** Its sender waits for an answer, and so hears of an error. */
  readonly answered: boolean;
  /** RabbitMQ's. */
  readonly rmq: { message: RmqMessage; channel: RmqChannel; pattern: string } | undefined;
}

export function receivedMessage(
  execution: ExecutionContext,
  { kind }: IdempotentEntry,
): ReceivedMessage {
  const rpc = execution.switchToRpc();
  const payload: unknown = rpc.getData();
  const context = (rpc.getContext<unknown>() ?? {}) as TransportContext;
  const plain = {
    payload,
    context,
    messageId: undefined,
    answered: kind === 'message',
    rmq: undefined,
  };
  if (context.getChannelRef) {
    const message = context.getMessage!() as RmqMessage;
    const { messageId, replyTo, headers } = message.properties;
    const pattern = (context as { getPattern(): string }).getPattern();
    return {
      ...plain,
      transport: 'rmq',
      headers: readable(headers),
      messageId: textOf(messageId),
      answered: textOf(replyTo) !== undefined,
      rmq: { message, channel: context.getChannelRef(), pattern },
    };
  }
  if (context.getPartition) {
    const { headers } = context.getMessage!() as { headers?: Record<string, unknown> };
    const read = readable(headers);
    // Without them Nest handles the message as an event, whatever its handler is.
    const hasReply = read.has('kafka_correlationid') && read.has('kafka_replytopic');
    return { ...plain, transport: 'kafka', headers: read, answered: plain.answered && hasReply };
  }
  if (context.getMap) return { ...plain, transport: 'grpc', headers: readable(context.getMap()) };
  return { ...plain, transport: 'other', headers: readable(otherHeaders(context)) };
}

function otherHeaders(context: TransportContext): Record<string, unknown> | undefined {
  if (context.getSubject) {
    const headers = context.getHeaders?.();
    const names = [...(headers?.keys?.() ?? [])];
    return Object.fromEntries(names.map((name) => [name, headers!.get(name)]));
  }
  if (context.getPacket) return context.getPacket()?.properties?.userProperties;
  return context.getMetadata?.();
}

function readable(headers: Record<string, unknown> | null | undefined): Map<string, string> {
  const read = new Map<string, string>();
  for (const [name, value] of Object.entries(headers ?? {})) {
    const text = textOf(value);
    if (text !== undefined) read.set(name.toLowerCase(), text);
  }
  return read;
}

/** Undefined for what is no text, and for an empty one. */
function textOf(value: unknown): string | undefined {
  // Of a header that was sent twice, no value is better than the other.
  const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const text = single instanceof Uint8Array ? Buffer.from(single).toString() : single;
  if (typeof text === 'number' || typeof text === 'bigint') return String(text);
  return typeof text === 'string' && text !== '' ? text : undefined;
}
