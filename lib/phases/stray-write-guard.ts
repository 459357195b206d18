import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { RequestContext } from './request-context.js';
import { isPhaseRunner } from './running-phase.js';
import { describeWrite, isWrite } from './sql-writes.js';
import type { Mistake, UsageGuard } from './usage-guard.js';

/**
 * Reports writes of idempotent handlers outside the transaction of a phase:
 * through an injected repository instead of `tx`, or outside any phase. They
 * remain when the phase rolls back, and happen again when the handler runs again.
 */
export class StrayWriteGuard implements EntitySubscriberInterface {
  constructor(
    private readonly dataSource: DataSource,
    private readonly guard: UsageGuard,
    /** The library's own tables, which it may write to. */
    private readonly ownTables: readonly string[],
  ) {}

  install(): void {
    this.dataSource.subscribers.push(this);
  }

  uninstall(): void {
    const index = this.dataSource.subscribers.indexOf(this);
    if (index >= 0) this.dataSource.subscribers.splice(index, 1);
  }

  /**
   * Not async: TypeORM 0.3 sends the query without waiting for a promise. A
   * thrown error stops it.
   */
  beforeQuery({ query, queryRunner }: { query: string; queryRunner?: QueryRunner }): void {
    const context = this.guard.watched;
    if (!context || (queryRunner && isPhaseRunner(queryRunner)) || !isWrite(query)) return;
    if (this.ownTables.some((table) => query.includes(table))) return;
    const error = this.guard.report(context, mistakeOf(context, describeWrite(query)));
    if (error) throw error;
  }
}

function mistakeOf({ phase }: RequestContext, write: string): Mistake {
  if (phase?.queryRunner) {
    return {
      code: 'write_past_transaction',
      name: `${write} past ${phase.name}`,
      message:
        `wrote to the database past the transaction of phase "${phase.name}" (${write}). The write stays even if the phase rolls back, and happens again when it is retried. ` +
        'Use the tx that the phase hands to your callback: tx.getRepository(Entity), tx.query(...).',
      // An error in record would leave the phase in doubt, which is worse than this.
      unprotected: phase.kind === 'local',
    };
  }
  if (phase) {
    return {
      code: 'write_in_call',
      name: `${write} in the call of ${phase.name}`,
      message:
        `wrote to the database in the call of foreign phase "${phase.name}" (${write}). The write stays whatever becomes of the call, and happens again when it is repeated. ` +
        'Write what the call has led to in record, which shares the transaction of its outcome; write what it needs in a local phase before it.',
      unprotected: false, // for the same reason
    };
  }
  return {
    code: 'write_outside_phase',
    name: `${write} outside`,
    message:
      `wrote to the database outside any phase (${write}). After a crash nobody knows whether it happened: a resume makes it again, or never. ` +
      'Move it into atomicPhase.local() and write through its tx. If it is all that the handler does, it is one phase: ' +
      "return atomicPhase.local('order_created', (tx) => tx.save(order)). " +
      'If it may be missing or be there twice (a log, a counter of page views), wrap it in atomicPhase.unprotected().',
    unprotected: true,
  };
}
