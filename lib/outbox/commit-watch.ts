import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';

/**
 * Wakes the worker of this process when messages were committed. A NOTIFY inside
 * the transaction would reach all processes, but halve the throughput; this costs
 * nothing, and other processes poll.
 */
export class CommitWatch implements EntitySubscriberInterface {
  /** Connections with messages that are not committed yet. */
  private readonly uncommitted = new WeakSet<QueryRunner>();

  constructor(private readonly wake: () => void) {}

  install(dataSource: DataSource): void {
    dataSource.subscribers.push(this);
  }

  uninstall(dataSource: DataSource): void {
    const index = dataSource.subscribers.indexOf(this);
    if (index >= 0) dataSource.subscribers.splice(index, 1);
  }

  expect(queryRunner: QueryRunner): void {
    this.uncommitted.add(queryRunner);
  }

  afterTransactionCommit({ queryRunner }: { queryRunner: QueryRunner }): void {
    // Also called at the end of a savepoint, while the transaction around it is still open.
    if (queryRunner.isTransactionActive) return;
    if (this.uncommitted.delete(queryRunner)) this.wake();
  }

  afterTransactionRollback({ queryRunner }: { queryRunner: QueryRunner }): void {
    if (!queryRunner.isTransactionActive) this.uncommitted.delete(queryRunner);
  }
}
