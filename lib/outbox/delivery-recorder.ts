import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import { publish } from '../telemetry/publish.js';
import { Batcher } from '../postgres/batcher.js';
import { persist } from '../postgres/retries.js';
import type { Delivery, DeliveryOutcome } from './delivery.js';
import { describeFailure, pauseAfter } from './failure.js';
import type { MessageLease, DeliveryStore } from './delivery-store.js';

/**
 * Records the outcome of deliveries: delivered, another delivery after a pause,
 * or a dead letter.
 */
export class DeliveryRecorder {
  private readonly logger = new Logger('Outbox');
  /** Bounded by the number of deliveries; each item is two ids. */
  private readonly delivered: Batcher<MessageLease, boolean>;

  constructor(
    private readonly store: DeliveryStore,
    private readonly maxAttempts: number,
    private readonly lease: number,
  ) {
    this.delivered = new Batcher(
      async (leases) => {
        const ours = await store.delivered(leases);
        return leases.map(({ id }) => ours.has(id));
      },
      { name: 'deliveries', size: 1_000, bytes: Infinity, queue: Infinity, weigh: () => 0 },
    );
  }

  /** A delivery that could not be recorded happens again when the lease lapses: at least once. */
  async record(delivery: Delivery, outcome: DeliveryOutcome): Promise<void> {
    if (outcome.kind === 'dropped') return;
    let tries = 0;
    try {
      const ours = await persist(
        () => {
          tries += 1;
          return outcome.kind === 'delivered'
            ? this.delivered.call(delivery)
            : this.fail(delivery, outcome.error);
        },
        { within: this.lease, again: () => !delivery.dropped },
      );
      if (ours && outcome.kind === 'delivered') {
        publish('outbox_delivered', () => delivery.described);
      }
      // A second try finds nothing if the first one succeeded.
      if (!ours && tries === 1) {
        this.logger.warn(
          `Message ${delivery.id} for "${delivery.message.topic}" was claimed by another worker meanwhile; the outcome of this delivery is not recorded.`,
        );
      }
    } catch (error) {
      this.logger.warn(
        `The outcome of the delivery of message ${delivery.id} could not be recorded, so it is delivered again: ${errorLine(error)}`,
      );
    }
  }

  private async fail(delivery: Delivery, error: unknown): Promise<boolean> {
    const { id, topic, attempts } = delivery.message;
    const pause = attempts < this.maxAttempts ? pauseAfter(attempts) : null;
    const ours = await this.store.failed(delivery, describeFailure(error), pause);
    if (!ours) return false;
    publish(pause === null ? 'outbox_dead' : 'outbox_failed', () => ({
      ...delivery.described,
      error: errorLine(error),
    }));
    if (pause === null) {
      this.logger.error(
        `Message ${id} for "${topic}" is a dead letter, because its last delivery failed: ${errorLine(error)}`,
      );
    } else {
      this.logger.warn(
        `Delivery ${attempts} of message ${id} for "${topic}" failed and is tried again in about ${Math.ceil(pause / 1000)} s: ${errorLine(error)}`,
      );
    }
    return true;
  }
}
