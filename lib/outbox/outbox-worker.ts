import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Work } from '../background/job.js';
import { errorLine } from '../telemetry/error-line.js';
import { inSpan, type SpanStart } from '../telemetry/tracing.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { Delivery, type DeliveryOutcome } from './delivery.js';
import { DeliveryLeases } from './delivery-leases.js';
import { DeliveryRecorder } from './delivery-recorder.js';
import type { DeliveryStore } from './delivery-store.js';
import type { StoredMessage } from './message-statements.js';
import type { OutboxSettings } from './outbox.settings.js';
import type { OutboxTransport } from './outbox-transport.js';
import { UnhandledTopics } from './unhandled-topics.js';

/**
 * Claims messages and delivers them concurrently, at least once, each under its
 * own id. A slow delivery does not hold up the others.
 */
export class OutboxWorker implements Work {
  private readonly logger = new Logger('Outbox');
  private readonly leases: DeliveryLeases;
  private readonly recorder: DeliveryRecorder;
  private readonly unhandled: UnhandledTopics;
  private readonly underWay = new Map<Delivery, Promise<void>>();
  /** The last claim was full. */
  private more = false;
  private closed = false;

  /** @param wake asks for another run, because there is capacity and perhaps work */
  constructor(
    private readonly store: DeliveryStore,
    private readonly transport: OutboxTransport,
    private readonly settings: Omit<OutboxSettings, 'transport'>,
    private readonly wake: () => void,
  ) {
    this.leases = new DeliveryLeases(store, settings.lease);
    this.recorder = new DeliveryRecorder(store, settings.maxAttempts, settings.lease);
    this.unhandled = new UnhandledTopics(store);
  }

  /** Begins deliveries until `most` are running, and does not wait for them. */
  async run(most: number): Promise<number> {
    const { topics } = this.transport;
    await this.unhandled.report(topics);
    const room = most - this.underWay.size;
    if (this.closed || room <= 0 || topics?.length === 0) return 0;
    const deliveries = await this.claim(topics ?? null, room);
    this.more = deliveries.length === room;
    if (this.closed) {
      await this.store.release(deliveries);
      return 0;
    }
    for (const delivery of deliveries) this.underWay.set(delivery, this.carryOut(delivery));
    return deliveries.length;
  }

  /** Resolves when everything begun so far has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.underWay.values());
  }

  /** Waits this long for deliveries to finish, then gives back the remaining messages. */
  async close(timeout: number): Promise<void> {
    this.closed = true;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise((resolve) => (timer = setTimeout(resolve, timeout)));
    await Promise.race([this.settled(), patience]);
    clearTimeout(timer);

    const left = [...this.underWay.keys()];
    for (const delivery of left) delivery.abandon('The process shuts down.');
    const unfinished = left.filter((delivery) => !delivery.ended);
    if (unfinished.length > 0) {
      this.logger.warn(
        `${unfinished.length} message(s) were not delivered within ${timeout} ms of shutdown; they are given back.`,
      );
      await this.store.release(unfinished).catch((error: unknown) => {
        this.logger.error(
          `Messages could not be given back; their leases lapse by themselves: ${errorLine(error)}`,
        );
      });
    }
    await this.settled();
  }

  private async claim(topics: readonly string[] | null, room: number): Promise<Delivery[]> {
    const token = randomUUID();
    let messages: StoredMessage[];
    try {
      messages = await this.store.claim(topics, token, this.settings.lease, room);
    } catch (error) {
      // The claim may have happened, or may still happen: only its reply is missing.
      if (error instanceof StoreUnavailableError && error.late) {
        void error.late.then(() => this.store.releaseClaim(token)).catch(() => undefined);
      }
      throw error;
    }
    return messages.map((message) => new Delivery(message, token));
  }

  private async carryOut(delivery: Delivery): Promise<void> {
    this.leases.hold(delivery);
    try {
      await this.recorder.record(delivery, await this.outcomeOf(delivery));
    } finally {
      this.leases.drop(delivery);
      this.underWay.delete(delivery);
      // The next message of its ordering key can be delivered now.
      if (this.more || delivery.message.orderingKey !== null) this.wake();
    }
  }

  private async outcomeOf(delivery: Delivery): Promise<DeliveryOutcome> {
    const { maxAttempts, maxRunTime } = this.settings;
    if (delivery.message.attempts <= maxAttempts) {
      return inSpan(
        () => describeDelivery(delivery),
        () => delivery.attempt(this.transport, maxRunTime),
      );
    }
    // If a message kills its workers, no failure is ever recorded: it has to be stopped here.
    const error = `Delivery ${maxAttempts} of at most ${maxAttempts} did not end: its process died or hung.`;
    return { kind: 'failed', error };
  }
}

/** Part of the trace of the request that added the message. */
function describeDelivery({ message }: Delivery): SpanStart {
  return {
    name: `deliver ${message.topic}`,
    kind: 'consumer',
    attributes: {
      'messaging.destination.name': message.topic,
      'messaging.message.id': message.id,
      'idempotency.attempt': message.attempts,
    },
    origin: message.traceparent,
    detached: true,
  };
}
