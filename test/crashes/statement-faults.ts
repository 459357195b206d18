import { once } from 'node:events';
import type { Client } from 'pg';
import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

interface QueryEvent {
  queryRunner?: QueryRunner;
}

/**
 * Ends connections of an application from the outside, as an operator or a
 * failover does, at a statement of its own. One at a time: the statements are
 * counted over all of its connections.
 */
export class StatementFaults implements EntitySubscriberInterface {
  private sent = 0;
  private fault: { at: number; when: 'before' | 'after' } | undefined;

  constructor(
    dataSource: DataSource,
    private readonly database: TestDatabase,
  ) {
    dataSource.subscribers.push(this);
  }

  /** The connection of the coming nth statement ends, right before or after it. */
  terminate(at: number, when: 'before' | 'after'): { happened: () => boolean } {
    this.sent = 0;
    this.fault = { at, when };
    return { happened: () => this.fault === undefined };
  }

  async beforeQuery({ queryRunner }: QueryEvent): Promise<void> {
    this.sent += 1;
    if (this.fault?.when !== 'before' || this.fault.at !== this.sent) return;
    this.fault = undefined;
    await this.terminateBackendOf(queryRunner);
  }

  async afterQuery({ queryRunner }: QueryEvent): Promise<void> {
    if (this.fault?.when !== 'after' || this.fault.at !== this.sent) return;
    this.fault = undefined;
    const client = (await queryRunner!.connect()) as Client;
    const ended = once(client, 'end');
    await this.terminateBackendOf(queryRunner);
    // The application has noticed before it sends the next statement.
    await ended;
  }

  private async terminateBackendOf(queryRunner: QueryRunner | undefined): Promise<void> {
    const client = (await queryRunner!.connect()) as Client & { processID: number };
    const { processID } = client;
    await this.database.query('SELECT pg_terminate_backend($1)', [processID]);
    await until(async () => {
      const alive = 'SELECT FROM pg_stat_activity WHERE pid = $1';
      return (await this.database.query(alive, [processID])).length === 0;
    }, 'the backend is gone');
  }
}
