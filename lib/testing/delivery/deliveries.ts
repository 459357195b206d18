import { randomUUID } from 'node:crypto';
import { DeliveryRecorder } from '../../outbox/delivery-recorder.js';
import { Delivery, type DeliveryOutcome } from '../../outbox/delivery.js';
import type { DeliveryStore } from '../../outbox/delivery-store.js';
import type { OutboxTransport } from '../../outbox/outbox-transport.js';
import type { OutboxSettings } from '../../outbox/outbox.settings.js';
import { Lockstep } from './lockstep.js';
import type { KitMessageStore } from './kit-message-store.js';
import type { StatementWatch, WatchedStatements } from './statement-watch.js';

/** How often a message is delivered until it has to be through. */
const MOST_DELIVERIES = 4;

/** What is done to a delivery. */
export interface Disturbance {
  /** The process dies before the handler is called. */
  before?: boolean;
  /** The process dies between the effect and the note of it. */
  unnoted?: boolean;
  /** This statement fails. */
  failAt?: number;
}

/** Delivers messages as the outbox's worker does, one by one, at the kit's command. */
export class Deliveries {
  /** How often the handler was called. */
  count = 0;
  /** The statements of the last call. */
  last: WatchedStatements | undefined;
  readonly late: string[] = [];
  private readonly recorder: DeliveryRecorder;

  constructor(
    private readonly store: KitMessageStore,
    deliveryStore: DeliveryStore,
    private readonly transport: OutboxTransport,
    private readonly watch: StatementWatch,
    settings: OutboxSettings,
    private readonly timeout: number,
  ) {
    // A message that fails is not to become a dead letter: the kit counts itself.
    this.recorder = new DeliveryRecorder(deliveryStore, Infinity, settings.lease);
    this.lease = settings.lease;
  }

  private readonly lease: number;

  async deliver(id: string, disturbance: Disturbance = {}): Promise<DeliveryOutcome> {
    const delivery = await this.claim(id);
    if (!delivery) return { kind: 'delivered' };
    if (disturbance.before) return { kind: 'dropped' };
    const outcome = await this.attempt(delivery, disturbance);
    if (!disturbance.unnoted) await this.recorder.record(delivery, outcome);
    return outcome;
  }

  /** Both have it: the first one has lost it without knowing. */
  async deliverAtOnce(id: string): Promise<DeliveryOutcome[]> {
    const deliveries = [await this.claim(id), await this.claim(id)].map((delivery) => delivery!);
    const lockstep = new Lockstep();
    return Promise.all(
      deliveries.map(async (delivery) => {
        const outcome = await this.attempt(delivery, { lockstep });
        // What the first one has to say is fenced off, and no news to anybody.
        if (delivery === deliveries[1]) await this.recorder.record(delivery, outcome);
        return outcome;
      }),
    );
  }

  /** Until it is through. */
  async deliverAtLast(id: string): Promise<DeliveryOutcome> {
    let outcome: DeliveryOutcome = { kind: 'dropped' };
    for (let n = 0; n < MOST_DELIVERIES && outcome.kind !== 'delivered'; n++) {
      outcome = await this.deliver(id);
    }
    return outcome;
  }

  private async claim(id: string): Promise<Delivery | undefined> {
    const token = randomUUID();
    const message = await this.store.claim(id, token, this.lease);
    return message && new Delivery(message, token);
  }

  private async attempt(
    delivery: Delivery,
    { failAt, lockstep }: Pick<WatchedStatements, 'failAt' | 'lockstep'>,
  ): Promise<DeliveryOutcome> {
    this.count += 1;
    const watched: WatchedStatements = {
      seen: [],
      failAt,
      lockstep,
      ended: false,
      late: this.late,
    };
    this.last = watched;
    return this.watch.during(watched, () => delivery.attempt(this.transport, this.timeout));
  }
}
