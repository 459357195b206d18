import { Logger } from '@nestjs/common';
import { errorLine } from '../telemetry/error-line.js';
import { outside } from '../telemetry/outside.js';
import type { Delivery } from './delivery.js';
import type { MessageLease, DeliveryStore } from './delivery-store.js';

/** Two heartbeats may fail before a lease lapses. */
const HEARTBEATS_PER_LEASE = 3;

/** Renews the leases of the messages that this process delivers: one statement per tick for all. */
export class DeliveryLeases {
  private readonly logger = new Logger('Outbox');
  private readonly held = new Set<Delivery>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: DeliveryStore,
    private readonly lease: number,
  ) {}

  hold(delivery: Delivery): void {
    this.held.add(delivery);
    this.schedule();
  }

  drop(delivery: Delivery): void {
    this.held.delete(delivery);
  }

  private schedule(): void {
    // Unreferenced: a heartbeat alone is no reason to keep a process alive.
    const tick = () => void outside(() => this.tick());
    this.timer ??= setTimeout(tick, this.lease / HEARTBEATS_PER_LEASE).unref();
  }

  private async tick(): Promise<void> {
    const deliveries = [...this.held];
    try {
      const rows = deliveries.length > 0 ? await this.store.renew(deliveries, this.lease) : [];
      const lost = new Set(rows.map(nameOf));
      for (const delivery of deliveries) {
        // For a delivery that has ended, the statement that records it reports the loss.
        if (!lost.has(nameOf(delivery)) || !this.held.has(delivery) || delivery.ended) continue;
        this.logger.warn(
          `Message ${delivery.id} for "${delivery.message.topic}" belongs to another worker now; the outcome of this delivery is not recorded.`,
        );
        delivery.abandon('The lease of the message is lost.');
      }
    } catch (error) {
      this.logger.warn(`Leases of messages could not be renewed: ${errorLine(error)}`);
    }
    this.timer = undefined;
    if (this.held.size > 0) this.schedule();
  }
}

/**
 * A process may be delivering a message twice, and only one of the deliveries has
 * lost its lease.
 */
function nameOf({ id, token }: MessageLease): string {
  return `${id} ${token}`;
}
