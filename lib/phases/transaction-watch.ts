import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { OpenTransactions } from './open-transactions.js';
import { requestContext } from './request-context.js';

/** Node publishes each request on this channel, before any middleware runs. */
const REQUEST_STARTED = 'http.server.request.start';

/**
 * Tracks the open transactions of each request. A phase inside one of them would
 * commit even if the outer transaction rolls back, and would need a second
 * connection while the first one is held: if all connections of the pool are held
 * like that, every request waits for ever.
 */
export class TransactionWatch implements EntitySubscriberInterface {
  constructor(private readonly dataSource: DataSource) {}

  install(): void {
    this.dataSource.subscribers.push(this);
    subscribe(REQUEST_STARTED, surround);
  }

  uninstall(): void {
    unsubscribe(REQUEST_STARTED, surround);
    const index = this.dataSource.subscribers.indexOf(this);
    if (index >= 0) this.dataSource.subscribers.splice(index, 1);
  }

  afterTransactionStart({ queryRunner }: { queryRunner: QueryRunner }): void {
    requestContext.surroundings?.transactions.begun(queryRunner, this.dataSource);
  }

  afterTransactionCommit({ queryRunner }: { queryRunner: QueryRunner }): void {
    this.ended(queryRunner);
  }

  afterTransactionRollback({ queryRunner }: { queryRunner: QueryRunner }): void {
    this.ended(queryRunner);
  }

  /** Whether the running code is part of a request that has a transaction open. */
  get isInside(): boolean {
    if (requestContext.surroundings?.transactions.on(this.dataSource)) return true;
    // typeorm-transactional puts the manager of its transaction here.
    const { queryRunner } = this.dataSource.manager;
    return queryRunner !== undefined && queryRunner.isTransactionActive && !queryRunner.isReleased;
  }

  private ended(queryRunner: QueryRunner): void {
    // Also called at the end of a savepoint, while the transaction around it is still open.
    if (queryRunner.isTransactionActive) return;
    requestContext.surroundings?.transactions.ended(queryRunner);
  }
}

/** Middleware, guards and outer interceptors may begin a transaction as well. */
function surround(): void {
  requestContext.enter({ transactions: new OpenTransactions() });
}
