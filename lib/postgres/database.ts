import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { ClientBase, QueryResult } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { publish } from '../telemetry/publish.js';
import { errorCode, isSerializationConflict, isUnprepared } from './database-errors.js';
import { databaseWords } from './database-words.js';
import { persist } from './retries.js';
import { PoolWatch } from './pool-watch.js';
import type { PreparedStatement } from './prepared-statement.js';
import { ReservedConnection, type Connection } from './reserved-connection.js';
import type { DriverStatement } from './same-trip.js';
import { ALL_SCOPES, ScopeByScope, type Scopes } from './scopes.js';
import { endStatement } from './statement-cancellation.js';
import { StoreUnavailableError } from './store-unavailable.error.js';

/**
 * Where a statement gets its connection. `reserved`: from a connection that the
 * application cannot use, so that a heartbeat does not wait for its work.
 * `urgent`: from there if the pool has none for a moment. A known outcome has to
 * be recorded even while handlers hold every connection.
 */
export type Lane = 'pool' | 'urgent' | 'reserved';

/** How long a busy pool usually takes to free a connection. */
const URGENT_PATIENCE = 250;

/** Runs the library's statements, each on its own connection and within a bounded time. */
export class Database {
  /** How a statement reaches rows of several scopes. */
  readonly scopes: Scopes;
  private readonly reserved: ReservedConnection;
  private readonly poolWatch: PoolWatch;

  constructor(
    private readonly dataSource: DataSource,
    private readonly timeout: number,
    private readonly schema?: string,
    /** Whether statements may stay on a connection, prepared. */
    private prepares = false,
    /** Whether the tables are distributed over several nodes, by scope. */
    readonly distributed = false,
  ) {
    this.scopes = distributed ? new ScopeByScope() : ALL_SCOPES;
    this.reserved = new ReservedConnection(dataSource, timeout);
    this.poolWatch = new PoolWatch(dataSource);
  }

  /**
   * The qualified, quoted name of the table of an entity, by the name in its
   * decorator: a prefix or a naming strategy may have changed it.
   */
  table(given: string): string {
    const schema = this.schema ?? (this.dataSource.options as { schema?: string }).schema;
    const name = this.dataSource.entityMetadatas.find(
      (entity) => entity.givenTableName === given && entity.schema === schema,
    )?.tableName;
    return [schema, name ?? given]
      .filter((part) => part !== undefined)
      .map((part) => `"${part.replaceAll('"', '""')}"`)
      .join('.');
  }

  /** Once per application. */
  open(): void {
    this.poolWatch.install();
  }

  async close(): Promise<void> {
    this.poolWatch.uninstall();
    await this.reserved.close();
  }

  /**
   * A single statement in its own transaction. Safe behind a transaction-pooling
   * proxy: it does not depend on session state.
   *
   * After `timeout` nobody waits for it any more, and it is cancelled on the
   * server: otherwise it would occupy its connection, and others would queue
   * behind it.
   */
  query<Row>(
    statement: string | PreparedStatement,
    parameters: unknown[],
    lane: Lane = 'pool',
  ): Promise<Row[]> {
    const progress = new Progress();
    const work = this.run<Row>(statement, parameters, lane, progress);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        progress.giveUp();
        publish('store_unavailable', () => ({ code: 'timeout' }));
        reject(
          new StoreUnavailableError(`The database did not answer within ${this.timeout} ms.`, {
            ...(progress.client && { late: work.catch(() => undefined) }),
          }),
        );
      }, this.timeout);
      work.then(
        (rows) => {
          clearTimeout(timer);
          resolve(rows);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error as Error);
        },
      );
    });
  }

  private async run<Row>(
    statement: string | PreparedStatement,
    parameters: unknown[],
    lane: Lane,
    progress: Progress,
  ): Promise<Row[]> {
    let connection: Connection | undefined;
    try {
      connection = await this.connect(lane);
      // The caller gave up while it waited for a connection: a statement sent
      // now would reserve a key that nobody runs.
      if (progress.givenUp) return [];
      const { client, runner } = connection;
      progress.client = client;
      return await persist(() => this.send<Row>(client, runner, statement, parameters), {
        within: this.timeout,
        again: (error) => isSerializationConflict(error) && !progress.givenUp,
      });
    } catch (cause) {
      if (!progress.givenUp) {
        publish('store_unavailable', () => ({ code: errorCode(cause) ?? 'unknown' }));
      }
      // With its own message: only that tells an outage from missing rights or a full disk.
      const message = `The database refused or lost a statement: ${databaseWords(cause)}`;
      throw new StoreUnavailableError(message, {
        cause,
        ...(progress.client && { late: Promise.resolve() }),
      });
    } finally {
      // The cancellation must not hit the next user of this connection.
      const cancelled = progress.over();
      if (cancelled) await cancelled;
      await connection?.release();
    }
  }

  private connect(lane: Lane): Promise<Connection> {
    if (lane === 'reserved') return this.reserved.connect();
    if (lane === 'urgent' && this.poolWatch.isExhausted) return this.connectUrgently();
    return this.connectToPool();
  }

  private async connectToPool(): Promise<Connection> {
    const runner = this.dataSource.createQueryRunner();
    const asked = performance.now();
    const client = (await runner.connect()) as ClientBase;
    this.poolWatch.waited(performance.now() - asked);
    return { client, runner, release: () => runner.release() };
  }

  private async connectUrgently(): Promise<Connection> {
    const pooled = this.connectToPool();
    const patience = new AbortController();
    const { signal } = patience;
    const first = await Promise.race([
      pooled.finally(() => patience.abort()),
      pause(URGENT_PATIENCE, undefined, { signal, ref: false }).catch(() => undefined),
    ]);
    if (first) return first;
    if (signal.aborted) return pooled;
    // Its result is not needed any more.
    pooled.then(
      ({ release }) => release(),
      () => undefined,
    );
    return this.reserved.connect();
  }

  /**
   * A statement inside a transaction of the application. If it cannot be
   * prepared, the transaction has to be repeated; from then on it is sent
   * unprepared.
   */
  async queryIn<Result = QueryResult>(
    runner: QueryRunner,
    statement: PreparedStatement,
    values: unknown[],
    send: Send<Result> = sendPlainly as Send<Result>,
  ): Promise<Result> {
    const client = (await runner.connect()) as ClientBase;
    const name = this.prepares ? statement.nextName() : undefined;
    try {
      return await this.execute(client, runner, { name, text: statement.text, values }, send);
    } catch (error) {
      if (isUnprepared(error)) this.stopPreparing(error);
      throw error;
    }
  }

  private async send<Row>(
    client: ClientBase,
    runner: QueryRunner | undefined,
    statement: string | PreparedStatement,
    values: unknown[],
  ): Promise<Row[]> {
    const prepared = typeof statement === 'string' ? undefined : statement;
    const text = prepared ? prepared.text : (statement as string);
    const name = this.prepares ? prepared?.nextName() : undefined;
    try {
      return (await this.execute(client, runner, { name, text, values })).rows as Row[];
    } catch (error) {
      if (name === undefined || !isUnprepared(error)) throw error;
      this.stopPreparing(error);
      return (await this.execute(client, runner, { text, values })).rows as Row[];
    }
  }

  private stopPreparing(reason: unknown): void {
    if (!this.prepares) return;
    this.prepares = false;
    new Logger('IdempotencyModule').warn(
      `A prepared statement was not found where it had been prepared, as behind a proxy that pools transactions. From here on statements are sent without a name. (${String(reason)})`,
    );
  }

  /**
   * TypeORM cannot name a statement, so it is sent through the driver, and
   * reported to TypeORM's logger.
   */
  private async execute<Result = QueryResult>(
    client: ClientBase,
    runner: QueryRunner | undefined,
    statement: DriverStatement,
    send: Send<Result> = sendPlainly as Send<Result>,
  ): Promise<Result> {
    const { logger } = this.dataSource;
    const { text, values } = statement;
    logger.logQuery(text, values, runner);
    try {
      return await send(client, statement);
    } catch (error) {
      logger.logQueryError(error as Error, text, values, runner);
      throw error;
    }
  }
}

/** Sends a statement through the driver. */
type Send<Result> = (client: ClientBase, statement: DriverStatement) => Promise<Result>;

const sendPlainly: Send<QueryResult> = (client, statement) => client.query(statement);

/** The progress of a statement, and whether anybody still waits for it. */
class Progress {
  givenUp = false;
  /** Known when the statement is about to be sent. */
  client: ClientBase | undefined;
  private cancelled: Promise<void> | undefined;
  private ended: AbortController | undefined;

  giveUp(): void {
    this.givenUp = true;
    if (!this.client) return;
    this.ended = new AbortController();
    this.cancelled = endStatement(this.client, this.ended.signal);
  }

  /** The statement has ended. The returned promise settles when its cancellation has ended too. */
  over(): Promise<void> | undefined {
    this.ended?.abort();
    return this.cancelled;
  }
}
