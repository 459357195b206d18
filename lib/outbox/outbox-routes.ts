import type { OutboxHandlers } from './outbox-handlers.js';
import type { DeliveredMessage, OutboxTransport } from './outbox-transport.js';

/** Who delivers a message: the handler of its topic in this process, or the transport. */
export class OutboxRoutes implements OutboxTransport {
  constructor(
    private readonly handlers: OutboxHandlers,
    private readonly transport: OutboxTransport | undefined,
  ) {}

  get topics(): readonly string[] | undefined {
    if (!this.transport) return this.handlers.topics;
    return this.transport.topics && [...this.handlers.topics, ...this.transport.topics];
  }

  async deliver(message: DeliveredMessage): Promise<void> {
    if (!this.transport || this.handlers.has(message.topic)) await this.handlers.handle(message);
    else await this.transport.deliver(message);
  }
}
