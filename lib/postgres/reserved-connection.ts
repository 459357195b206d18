import type { ClientBase, Pool, PoolConfig } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';

/** A connection for one statement. */
export interface Connection {
  client: ClientBase;
  /** For TypeORM's logger, where the connection is TypeORM's. */
  runner?: QueryRunner;
  release(): void | Promise<void>;
}

/**
 * Longer than the pause between two heartbeats of a usual lease, so that the
 * connection is not opened for each.
 */
const IDLE_TIMEOUT = 60_000;

/**
 * One connection outside the application's pool, for statements that must not
 * wait for its work: a heartbeat that waits while handlers hold all connections
 * comes too late. Opened when it is first needed.
 */
export class ReservedConnection {
  private pool: Pool | undefined;
  private model: Pool | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly timeout: number,
    /** Is told of the pool that the connection comes from. */
    private readonly opened: (pool: Pool) => void,
  ) {}

  async connect(): Promise<Connection> {
    const client = await this.open().connect();
    let broken: Error | undefined;
    const noticeError = (error: Error) => void (broken = error);
    client.on('error', noticeError);
    return {
      client,
      release() {
        client.off('error', noticeError);
        client.release(broken);
      },
    };
  }

  async close(): Promise<void> {
    const { pool } = this;
    this.pool = undefined;
    this.model = undefined;
    await pool?.end();
  }

  /** Configured like the data source's pool, which is a new one after a reconnection. */
  private open(): Pool {
    const { master } = this.dataSource.driver as unknown as { master: Pool };
    if (this.pool && this.model === master) return this.pool;
    void this.pool?.end().catch(() => undefined);
    const { options } = master;
    const Pool = master.constructor as new (config: PoolConfig) => Pool;
    this.model = master;
    this.pool = new Pool({
      ...options,
      // pg makes it non-enumerable.
      password: options.password,
      max: 1,
      min: 0,
      idleTimeoutMillis: IDLE_TIMEOUT,
      connectionTimeoutMillis: this.timeout,
      allowExitOnIdle: true,
    });
    this.pool.on('error', () => undefined);
    // One that breaks while it is asked for its timeline: an error without a listener would end the process.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    this.opened(this.pool);
    return this.pool;
  }
}
