import { Injectable, SetMetadata } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { IdempotencyConfigurationError } from '../idempotency.errors.js';
import { markedMethods } from '../marked-methods.js';
import type { DeliveredMessage, OutboxTransport } from './outbox-transport.js';

const TOPIC = Symbol('nestjs-atomic-idempotency:outbox-topic');

export type OutboxHandlerMethod = (message: DeliveredMessage<never>) => unknown;

/**
 * Marks a provider's method as the handler of a topic. It may get a message
 * more than once (its worker died before it could note the delivery), always
 * under the same id.
 */
export function OutboxHandler(
  topic: string,
): <M extends OutboxHandlerMethod>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return SetMetadata(TOPIC, topic);
}

/** The handlers of this process, found at boot: the transport unless another one is configured. */
@Injectable()
export class OutboxHandlers implements OutboxTransport {
  private readonly handlers = new Map<string, (message: DeliveredMessage) => unknown>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  get topics(): readonly string[] {
    return [...this.handlers.keys()];
  }

  explore(): void {
    for (const { mark, call, where } of markedMethods(this.discovery, this.scanner, TOPIC)) {
      if (this.handlers.has(mark)) {
        throw new IdempotencyConfigurationError(
          `@OutboxHandler('${mark}') of ${where}: another method handles this topic already. ` +
            'A message is delivered once for all; if two things are to happen, add two messages.',
        );
      }
      this.handlers.set(mark, call);
    }
  }

  async deliver(message: DeliveredMessage): Promise<void> {
    const handler = this.handlers.get(message.topic);
    if (!handler)
      throw new Error(`There is no @OutboxHandler('${message.topic}') in this process.`);
    await handler(message);
  }
}
