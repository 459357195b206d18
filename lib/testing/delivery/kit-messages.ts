import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { IdempotencySettings } from '../../idempotency.settings.js';
import { OutboxHandlers } from '../../outbox/outbox-handlers.js';
import { OutboxRoutes } from '../../outbox/outbox-routes.js';
import { DeliveryStore } from '../../outbox/delivery-store.js';
import type { StoredMessage } from '../../outbox/message-statements.js';
import { Outbox } from '../../outbox/outbox.js';
import { ColumnCiphers } from '../../encryption/column-cipher.js';
import { Database } from '../../postgres/database.js';
import { DATA_SOURCE } from '../../tokens.js';
import { Deliveries } from './deliveries.js';
import type { DeliveryOptions } from './delivery-options.js';
import { KitMessageStore } from './kit-message-store.js';
import type { StatementWatch } from './statement-watch.js';

/** Beyond what rows of a test have as quantities and the like. */
const FIRST_NUMBER = 7_001;

const TIMEOUT = 10_000;

/** Adds the messages of a verification, a new one for each run, and removes what is left of them. */
export class KitMessages {
  private readonly store: KitMessageStore;
  private readonly settings: IdempotencySettings;
  private readonly added: string[] = [];
  private nextNumber = FIRST_NUMBER;
  private last: StoredMessage | undefined;

  constructor(
    private readonly app: INestApplicationContext,
    private readonly options: DeliveryOptions,
  ) {
    this.settings = this.get(IdempotencySettings);
    this.store = new KitMessageStore(this.get(Database), this.get(ColumnCiphers));
    if (this.settings.maintenance.outbox.enabled) {
      throw new Error(
        'verifyDelivery: the outbox job of this application is on and would deliver the messages itself. Switch it off in the test: maintenance: { outbox: false }.',
      );
    }
    if ((options.message === undefined) === (options.send === undefined)) {
      throw new Error(
        'verifyDelivery: give either message, which the kit adds, or send, which adds one itself.',
      );
    }
  }

  /** Known when the first message is there. */
  get topic(): string {
    return this.last?.topic ?? this.options.topic ?? '…';
  }

  get ordered(): boolean {
    return typeof this.last?.orderingKey === 'string';
  }

  deliveries(app: INestApplicationContext, watch: StatementWatch): Deliveries {
    const { outbox } = this.settings;
    const handlers = app.get(OutboxHandlers, { strict: false });
    const routes = new OutboxRoutes(handlers, outbox.transport);
    const { timeout = TIMEOUT } = this.options;
    return new Deliveries(this.store, this.get(DeliveryStore), routes, watch, outbox, timeout);
  }

  /** Undefined: their order can be verified, or does not matter. */
  get whyNotInOrder(): string | undefined {
    const { message, later } = this.options;
    if (!this.ordered || later || typeof message === 'object') return undefined;
    return 'the order of messages with one ordering key: give later: (n) => …, a message that follows the one of the same n';
  }

  /** Returns the id of a new message. */
  add(): Promise<string> {
    const n = (this.nextNumber += 1);
    const { message, send } = this.options;
    if (send) return this.addedBy(async () => void (await send(n)));
    return this.addedBy(() => this.addMessage(message!, n));
  }

  /** Another message with the same ordering key. */
  async next(): Promise<string> {
    const { orderingKey } = this.last!;
    const { message, later = message! } = this.options;
    const id = await this.addedBy(() => this.addMessage(later, this.nextNumber));
    if (this.last!.orderingKey === orderingKey) return id;
    throw new Error(
      `verifyDelivery: later has the ordering key ${JSON.stringify(this.last!.orderingKey)}, and the message before it ${JSON.stringify(orderingKey)}. Give both the same one for the same n.`,
    );
  }

  async removeAll(): Promise<void> {
    await this.store.remove(this.added);
  }

  private async addMessage(
    given: NonNullable<DeliveryOptions['message']>,
    n: number,
  ): Promise<void> {
    const message = await (typeof given === 'function' ? given(n) : given);
    const { topic, payload, orderingKey } = message;
    const options = orderingKey === undefined ? {} : { orderingKey };
    const dataSource = this.app.get<DataSource>(DATA_SOURCE, { strict: false });
    await dataSource.transaction((tx) => this.get(Outbox).add(tx, topic, payload, options));
  }

  private async addedBy(send: () => Promise<void>): Promise<string> {
    const before = new Set((await this.store.all()).map(({ id }) => id));
    await send();
    const added = (await this.store.all()).filter(({ id }) => !before.has(id));
    this.added.push(...added.map(({ id }) => id));
    const { topic } = this.options;
    const meant = topic === undefined ? added : added.filter((each) => each.topic === topic);
    if (meant.length !== 1) throw notOne(added, topic);
    this.last = meant[0]!;
    this.assertHandled(this.last.topic);
    return this.last.id;
  }

  private assertHandled(topic: string): void {
    const { transport } = this.settings.outbox;
    const handlers = this.get(OutboxHandlers);
    const transported = transport && (transport.topics?.includes(topic) ?? true);
    if (handlers.has(topic) || transported) return;
    throw new Error(
      `verifyDelivery: this application has no @OutboxHandler('${topic}'). It has: ${handlers.topics.join(', ') || 'none'}. Correct the topic, or import the module with the handler.`,
    );
  }

  private get<T>(token: abstract new (...args: never[]) => T): T {
    return this.app.get(token as never, { strict: false });
  }
}

function notOne(added: readonly StoredMessage[], topic: string | undefined): Error {
  const topics = added.map((each) => each.topic).join(', ') || 'none';
  const what = topic === undefined ? 'one message' : `one message for "${topic}"`;
  return new Error(
    `verifyDelivery: each run is about ${what}, and these were added: ${topics}. Add one in a transaction that commits, or name the one that is meant with topic.`,
  );
}
