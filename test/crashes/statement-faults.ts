import { once } from 'node:events';
import type { Pool, PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import type { TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

type Client = PoolClient & { processID: number };

/**
 * Ends connections of an application from the outside, as an operator or a
 * failover does, at a statement of its own. One at a time: the statements are
 * counted over all of its connections, and those of one round trip are one.
 */
export class StatementFaults {
  private readonly watched = new WeakSet<Client>();
  private sent = 0;
  private fault: { at: number; when: 'before' | 'after' } | undefined;

  constructor(
    dataSource: DataSource,
    private readonly database: TestDatabase,
  ) {
    const { master: pool } = dataSource.driver as unknown as { master: Pool };
    pool.on('acquire', (client) => this.watch(client as Client));
  }

  /** The connection of the coming nth statement ends, right before or after it. */
  terminate(at: number, when: 'before' | 'after'): { happened: () => boolean } {
    this.sent = 0;
    this.fault = { at, when };
    return { happened: () => this.fault === undefined };
  }

  private watch(client: Client): void {
    if (this.watched.has(client)) return;
    this.watched.add(client);
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    const after = async (nth: number) => {
      if (!this.isDue('after', nth)) return;
      const ended = once(client, 'end');
      await this.terminateBackendOf(client);
      // The application has noticed before it sends the next statement.
      await ended;
    };
    const watched = async (...args: unknown[]) => {
      this.sent += 1;
      const nth = this.sent;
      if (this.isDue('before', nth)) await this.terminateBackendOf(client);
      if (isQuery(args[0])) {
        const { callback } = args[0];
        args[0].callback = async (...outcome) => {
          const failed = await after(nth).then(
            () => undefined,
            (error: unknown) => [error],
          );
          callback(...(failed ?? outcome));
        };
        return query(...args);
      }
      const result = await query(...args);
      await after(nth);
      return result;
    };
    client.query = watched as typeof client.query;
  }

  private isDue(when: 'before' | 'after', nth: number): boolean {
    if (this.fault?.when !== when || this.fault.at !== nth) return false;
    this.fault = undefined;
    return true;
  }

  private async terminateBackendOf({ processID }: Client): Promise<void> {
    await this.database.query('SELECT pg_terminate_backend($1::int)', [processID]);
    await until(async () => {
      const alive = 'SELECT FROM pg_stat_activity WHERE pid = $1';
      return (await this.database.query(alive, [processID])).length === 0;
    }, 'the backend is gone');
  }
}

/** A query that is told of its end by itself, instead of by a promise. */
interface Query {
  submit: unknown;
  callback: (...outcome: unknown[]) => unknown;
}

function isQuery(given: unknown): given is Query {
  return typeof (given as Partial<Query>).submit === 'function';
}
