import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { requestContext } from '../request/request-context.js';
import { phaseScope } from './phase-scope.js';
import type { UsageGuard } from './usage-guard.js';

const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|MERGE|TRUNCATE)\b/i;

/**
 * Notices writes inside a local phase that bypass its transaction: an injected
 * repository or `dataSource.manager` used instead of `tx`. They would commit
 * even if the phase rolls back.
 */
export class StrayWriteGuard implements EntitySubscriberInterface {
  constructor(
    private readonly dataSource: DataSource,
    private readonly guard: UsageGuard,
  ) {}

  install(): void {
    this.dataSource.subscribers.push(this);
  }

  uninstall(): void {
    const index = this.dataSource.subscribers.indexOf(this);
    if (index >= 0) this.dataSource.subscribers.splice(index, 1);
  }

  beforeQuery({ query, queryRunner }: { query: string; queryRunner?: QueryRunner }): void {
    const phase = phaseScope.current;
    if (!phase?.queryRunner || queryRunner === phase.queryRunner || !WRITES.test(query)) return;
    const route = requestContext.current?.route ?? 'An idempotent handler';
    const error = this.guard.report(
      `${route} stray ${phase.name}`,
      `${route} wrote to the database past the transaction of phase "${phase.name}". The write stays even if the phase rolls back, and happens again when it is retried. ` +
        'Use the tx that the phase hands to your callback: tx.getRepository(Entity), tx.query(...).',
    );
    if (error) throw error;
  }
}
