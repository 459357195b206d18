import type { OutboxHandlers } from '../../outbox/outbox-handlers.js';
import type { OutboxTransport } from '../../outbox/outbox-transport.js';
import type { Reconcilers } from '../../phases/reconciler.js';
import type { Operations } from '../../phases/resumable.js';

/**
 * Finds the decorated methods of the testing module when the first one is needed:
 * a unit test compiles its module and mostly does not initialise it.
 */
export class Exploration {
  private done = false;

  constructor(
    readonly reconcilers: Reconcilers,
    readonly operations: Operations,
    readonly outboxHandlers: OutboxHandlers,
    private readonly transport: OutboxTransport | undefined,
  ) {}

  explore(): void {
    if (this.done) return;
    this.done = true;
    this.reconcilers.explore();
    this.operations.explore();
    this.outboxHandlers.explore(this.transport?.topics);
  }
}
