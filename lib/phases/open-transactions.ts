import type { DataSource, QueryRunner } from 'typeorm';

/** The transactions that the code of one request has begun and not ended. */
export class OpenTransactions {
  /** Most requests have none when this is called. */
  private runners: Map<QueryRunner, DataSource> | undefined;

  begun(queryRunner: QueryRunner, dataSource: DataSource): void {
    (this.runners ??= new Map()).set(queryRunner, dataSource);
  }

  ended(queryRunner: QueryRunner): void {
    this.runners?.delete(queryRunner);
  }

  /** Whether one is open on this data source. */
  on(dataSource: DataSource): boolean {
    if (!this.runners) return false;
    for (const [runner, owner] of this.runners) {
      // A runner that was released, or lost its connection, does not report the end.
      if (!runner.isTransactionActive || runner.isReleased) this.runners.delete(runner);
      else if (owner === dataSource) return true;
    }
    return false;
  }
}
