import { Logger } from '@nestjs/common';
import { ReportedOnce } from '../telemetry/reported-once.js';
import type { DeliveryStore } from './delivery-store.js';

/** How long a message may wait before it is reported, and how often this is checked. */
const PATIENCE = 60_000;

/**
 * Reports messages that nobody delivers: their handler was renamed or removed, or
 * runs in a process that is down. They are kept.
 */
export class UnhandledTopics {
  private readonly logger = new Logger('Outbox');
  private readonly reported = new ReportedOnce();
  private lookedAt = performance.now();

  constructor(
    private readonly store: DeliveryStore,
    private readonly patience = PATIENCE,
  ) {}

  async report(topics: readonly string[] | undefined): Promise<void> {
    if (topics === undefined || performance.now() - this.lookedAt < this.patience) return;
    this.lookedAt = performance.now();
    for (const { topic, count } of await this.store.overdueTopics(topics, this.patience)) {
      if (!this.reported.isNew(topic)) continue;
      this.logger.warn(
        `${count} message(s) for "${topic}" wait, and this process has no @OutboxHandler('${topic}'). ` +
          'They are kept; deploy a handler for them, or see why the process that has it does not deliver.',
      );
    }
  }
}
