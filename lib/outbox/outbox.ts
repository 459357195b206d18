import { randomUUID } from 'node:crypto';
import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { parseDuration, type Duration } from '../duration.js';
import { toJson } from '../phases/json.js';
import { PhaseUsageError } from '../phases/phase-errors.js';
import type { OutboxStore } from './outbox-store.js';

export interface OutboxOptions {
  /** Messages with the same one are delivered one after another, in the order in which they were added. */
  orderingKey?: string;
  /** Not before this time has passed. */
  delay?: Duration;
}

/**
 * Messages that leave exactly if your transaction commits. Add them in a local
 * phase or in any other TypeORM transaction; `@OutboxHandler(topic)` methods get
 * them afterwards, at least once.
 */
export class Outbox implements EntitySubscriberInterface {
  /** Connections with messages that are not committed yet. */
  private readonly uncommitted = new WeakSet<QueryRunner>();

  constructor(
    private readonly store: OutboxStore,
    private readonly wake: () => void,
  ) {}

  /** @returns the message's id, under which all its deliveries happen */
  async add(
    tx: EntityManager,
    topic: string,
    payload?: unknown,
    options: OutboxOptions = {},
  ): Promise<string> {
    const { queryRunner } = tx;
    if (!queryRunner?.isTransactionActive) {
      throw new PhaseUsageError(
        `A message for "${topic}" was added without a transaction, so it could be sent although the work it tells of fails. ` +
          'Pass the tx of a local phase, or the manager of dataSource.transaction().',
      );
    }
    const delay = options.delay === undefined ? 0 : parseDuration(options.delay);
    if (delay === undefined) {
      throw new PhaseUsageError(
        `The delay of a message for "${topic}" is ${JSON.stringify(options.delay)}, which is not a duration. Use milliseconds or text such as '5m'.`,
      );
    }
    const id = randomUUID();
    await this.store.add(tx, {
      id,
      topic,
      payload: toJson(payload, `The payload of a message for "${topic}"`),
      orderingKey: options.orderingKey ?? null,
      delay,
    });
    this.uncommitted.add(queryRunner);
    return id;
  }

  install(dataSource: DataSource): void {
    dataSource.subscribers.push(this);
  }

  uninstall(dataSource: DataSource): void {
    const index = dataSource.subscribers.indexOf(this);
    if (index >= 0) dataSource.subscribers.splice(index, 1);
  }

  /** A NOTIFY inside the transaction would halve its throughput; this costs nothing, and others poll. */
  afterTransactionCommit({ queryRunner }: { queryRunner: QueryRunner }): void {
    if (this.uncommitted.delete(queryRunner)) this.wake();
  }

  afterTransactionRollback({ queryRunner }: { queryRunner: QueryRunner }): void {
    this.uncommitted.delete(queryRunner);
  }
}
