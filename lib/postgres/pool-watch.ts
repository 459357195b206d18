import { Logger } from '@nestjs/common';
import type { ClientBase, Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { publish } from '../telemetry/publish.js';

/** A healthy pool has a connection within milliseconds. */
const LONG_WAIT = 1_000;

/** One line per burst, not one per request. */
const PAUSE_BETWEEN_LINES = 60_000;

/** Watches the pool that the application and the library share. */
export class PoolWatch {
  private readonly logger = new Logger('IdempotencyModule');
  private readonly guarded = new WeakSet<ClientBase>();
  private pool: Pool | undefined;
  private quietUntil = 0;

  constructor(private readonly dataSource: DataSource) {}

  install(): void {
    this.pool = (this.dataSource.driver as unknown as { master?: Pool }).master;
    this.pool?.on('acquire', this.guard);
  }

  uninstall(): void {
    this.pool?.off('acquire', this.guard);
  }

  /** All connections of the pool are in use. */
  get isExhausted(): boolean {
    const { pool } = this;
    return pool !== undefined && pool.idleCount === 0 && pool.totalCount >= pool.options.max;
  }

  /** A statement waited this long for its connection. */
  waited(milliseconds: number): void {
    publish('pool_waited', () => ({ duration: milliseconds }));
    if (milliseconds < LONG_WAIT || performance.now() < this.quietUntil) return;
    this.quietUntil = performance.now() + PAUSE_BETWEEN_LINES;
    const { max, totalCount, waitingCount } = this.state();
    this.logger.warn(
      `A statement waited ${Math.round(milliseconds)} ms for a connection: the pool of the data source is too small for its load ` +
        `(${totalCount} of ${max} connections are open, ${waitingCount} more are waited for). ` +
        'Raise poolSize of the data source, or hold connections for a shorter time; a handler that has one of its own while it starts a phase needs two.',
    );
  }

  private state(): { max: number | string; totalCount: number; waitingCount: number } {
    const { pool } = this;
    return {
      max: pool?.options.max ?? 'an unknown number of',
      totalCount: pool?.totalCount ?? 0,
      waitingCount: pool?.waitingCount ?? 0,
    };
  }

  /**
   * TypeORM begins to listen for errors of a connection only shortly after it got
   * it from the pool. An error in between would have no listener and end the
   * process.
   */
  private readonly guard = (client: ClientBase): void => {
    if (this.guarded.has(client)) return;
    this.guarded.add(client);
    client.on('error', () => undefined);
  };
}
