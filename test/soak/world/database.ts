import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import {
  startEmbeddedPostgres,
  type PostgresServer,
} from '../../../sample-app/database/embedded-postgres.mjs';
import { idempotencyMigrations } from '../../../migrations/index.js';
import { CUSTOMERS, TABLES } from '../shop/tables.js';
import { REMOVALS } from './removals.js';

/** A server of its own, never that of DATABASE_URL, which is not ours to restart. */
export class Database {
  /** Resolves when what is being done to it is over. */
  faults: Promise<unknown> = Promise.resolve();
  private readonly pool: Pool;

  private constructor(private readonly server: PostgresServer) {
    this.pool = new Pool({ connectionString: server.url, max: 2 });
    this.pool.on('error', () => undefined); // it notices the restarts too
  }

  static async start(): Promise<Database> {
    const server = await startEmbeddedPostgres({ durable: false });
    const source = new DataSource({
      type: 'postgres',
      url: server.url,
      migrations: idempotencyMigrations,
    });
    await source.initialize();
    await source.runMigrations();
    await source.query(TABLES);
    await source.query(REMOVALS);
    await source.query('INSERT INTO customers (name) SELECT unnest($1::text[])', [CUSTOMERS]);
    await source.destroy();
    return new Database(server);
  }

  get url(): string {
    return this.server.url;
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query(sql, parameters)).rows as Row[];
  }

  restart(how: 'immediate' | 'fast'): Promise<void> {
    return this.server.restart(how);
  }

  async close(): Promise<void> {
    await this.pool.end();
    await this.server.stop();
  }
}
