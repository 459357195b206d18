import {
  Server,
  ServerKafka,
  ServerNats,
  ServerRedis,
  ServerRMQ,
  type CustomTransportStrategy,
} from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';

// Nest's own servers, which read messages, run handlers and answer as they do in
// production. Only the broker is missing: a test hands them what it would deliver.

type Callback = (error?: unknown) => void;

/** What a server sent back, or did to a message. */
export interface Answer {
  response?: unknown;
  err?: unknown;
}

export class RabbitServer extends ServerRMQ {
  /** `ack`, `requeue` or `dead letter`, by the message's tag. */
  readonly settled: [unknown, string][] = [];
  readonly answers: Answer[] = [];

  constructor() {
    super({ noAck: false });
    this.channel = {
      sendToQueue: (_queue: string, content: Buffer) => {
        this.answers.push(JSON.parse(content.toString()) as Answer);
      },
      ack: ({ fields }: Rabbit) => this.settled.push([fields.deliveryTag, 'ack']),
      nack: ({ fields }: Rabbit, _all: boolean, requeue: boolean) =>
        this.settled.push([fields.deliveryTag, requeue ? 'requeue' : 'dead letter']),
    };
  }

  override listen(callback: Callback): Promise<void> {
    callback();
    return Promise.resolve();
  }

  override async close(): Promise<void> {}

  deliver(pattern: unknown, data: unknown, { replyTo, tag = 1, ...rest }: RabbitDelivery = {}) {
    const { redelivered = false, messageId, headers } = rest;
    const packet = { pattern, data, ...(replyTo && { id: 'reply-1' }) };
    const message = {
      content: Buffer.from(JSON.stringify(packet)),
      fields: { deliveryTag: tag, redelivered },
      properties: { messageId, headers, replyTo, correlationId: replyTo && 'reply-1' },
    };
    return this.handleMessage(message, this.channel as never);
  }
}

type Rabbit = { fields: { deliveryTag: unknown } };

interface RabbitDelivery {
  messageId?: string;
  headers?: Record<string, unknown>;
  replyTo?: string;
  redelivered?: boolean;
  tag?: unknown;
}

export class KafkaServer extends ServerKafka {
  readonly answers: { value: unknown; headers: Record<string, Buffer> }[] = [];

  override listen(callback: Callback): Promise<void> {
    callback();
    return Promise.resolve();
  }

  override async close(): Promise<void> {}

  /** Rejects where kafkajs would deliver the message again. */
  async deliver(topic: string, value: unknown, headers: Record<string, string> = {}) {
    Object.assign(this, {
      producer: {
        send: ({ messages }: { messages: never[] }) => this.answers.push(...messages),
      },
    });
    const buffers = Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)]);
    await this.handleMessage({
      topic,
      partition: 3,
      message: {
        value: Buffer.from(JSON.stringify(value)),
        offset: '42',
        headers: Object.fromEntries(buffers) as Record<string, Buffer>,
      },
    } as never);
  }
}

export class NatsServer extends ServerNats {
  override listen(callback: Callback): Promise<void> {
    callback();
    return Promise.resolve();
  }

  override async close(): Promise<void> {}

  /** The answer, if the message asks for one. */
  async deliver(subject: string, data: unknown, headers: Record<string, string> = {}) {
    return new Promise<Answer>((resolve) => {
      const id = 'reply-1';
      const bytes = new TextEncoder().encode(JSON.stringify({ pattern: subject, data, id }));
      const map = new Map(Object.entries(headers));
      const message = {
        data: bytes,
        reply: 'inbox',
        headers: { get: (name: string) => map.get(name) ?? '', keys: () => [...map.keys()] },
        json: () => JSON.parse(new TextDecoder().decode(bytes)) as unknown,
        string: () => new TextDecoder().decode(bytes),
        respond: (content: string) => resolve(JSON.parse(content) as Answer),
      };
      void this.handleMessage(subject, message as never);
    });
  }
}

export class RedisServer extends ServerRedis {
  override listen(callback: Callback): Promise<void> {
    callback();
    return Promise.resolve();
  }

  override async close(): Promise<void> {}

  async deliver(channel: string, data: unknown): Promise<Answer> {
    return new Promise<Answer>((resolve) => {
      const pub = {
        publish: (_channel: string, content: string) => resolve(JSON.parse(content) as Answer),
      };
      const packet = JSON.stringify({ pattern: channel, data, id: 'reply-1' });
      void this.handleMessage(channel, packet as never, pub, channel);
    });
  }
}

/** Handlers with any context: that of gRPC is its metadata. */
export class Wire extends Server implements CustomTransportStrategy {
  listen(callback: Callback): void {
    callback();
  }

  close(): void {}

  on(): void {}

  unwrap<T>(): T {
    return undefined as T;
  }

  async deliver(pattern: unknown, data: unknown, context: unknown = {}): Promise<unknown> {
    const route = typeof pattern === 'string' ? pattern : JSON.stringify(pattern);
    const handler = this.getHandlerByPattern(route);
    if (!handler) throw new Error(`No handler for ${route}`);
    const result: unknown = await handler(data, context as never);
    return isObservable(result) ? lastValueFrom(result) : result;
  }
}
