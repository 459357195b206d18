import { Injectable, SetMetadata } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { decoratedMethods } from '../policy/decorated-methods.js';
import { OpenTransactions } from '../phases/open-transactions.js';
import { requestContext } from '../phases/request-context.js';
import type { DeliveredMessage } from './outbox-transport.js';

const TOPIC = Symbol('nestjs-atomic-idempotency:outbox-topic');

export type OutboxHandlerMethod = (message: DeliveredMessage<never>) => unknown;

/**
 * Makes a provider's method the handler of a topic. It may get a message more
 * than once (if its worker died before it could record the delivery), always
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

/** The handlers of this process, found at boot. */
@Injectable()
export class OutboxHandlers {
  private readonly handlers = new Map<string, (message: DeliveredMessage) => unknown>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  get topics(): string[] {
    return [...this.handlers.keys()];
  }

  /** @param elsewhere topics that the transport delivers */
  explore(elsewhere: readonly string[] = []): void {
    for (const { mark, call, where } of decoratedMethods(this.discovery, this.scanner, TOPIC)) {
      const decorator = `@OutboxHandler(${JSON.stringify(mark)}) of ${where}`;
      if (typeof mark !== 'string' || mark === '') {
        throw new IdempotencyConfigurationError(
          `${decorator}: the topic has to be a non-empty string.`,
        );
      }
      if (elsewhere.includes(mark)) {
        throw new IdempotencyConfigurationError(
          `${decorator}: the outbox's transport delivers this topic already. Remove the handler, or the topic from the transport.`,
        );
      }
      if (this.handlers.has(mark)) {
        throw new IdempotencyConfigurationError(
          `${decorator}: another method handles this topic already. ` +
            'A message has one handler; if two things are to happen, add two messages.',
        );
      }
      this.handlers.set(mark, call);
    }
  }

  has(topic: string): boolean {
    return this.handlers.has(topic);
  }

  async handle(message: DeliveredMessage): Promise<void> {
    const handler = this.handlers.get(message.topic);
    if (!handler)
      throw new Error(`There is no @OutboxHandler('${message.topic}') in this process.`);
    const surroundings = {
      transactions: new OpenTransactions(),
      withoutPhases: { kind: 'message', name: `@OutboxHandler('${message.topic}')` },
    } as const;
    const result = requestContext.surround(surroundings, () => handler(message));
    // A cold observable does nothing until somebody subscribes.
    await (isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result);
  }
}
