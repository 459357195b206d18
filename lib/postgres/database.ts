import type { Client, ClientBase } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { publish } from '../telemetry/publish.js';
import {
  errorCode,
  foundNoRow,
  isConnectionLoss,
  isLossOfNode,
  isReadOnlyServer,
  isRefusal,
  isSerializationConflict,
  isUnprepared,
} from './database-errors.js';
import { databaseWords } from './database-words.js';
import { Connections } from './connections.js';
import type { Lane } from './lane.js';
import { persist } from './retries.js';
import type { PreparedStatement } from './prepared-statement.js';
import type { Connection } from './reserved-connection.js';
import { PreparingSender } from './preparing-sender.js';
import { ALL_NODES, ONE_SERVER, type ScopeSetting } from './scope-statements.js';
import { ALL_SCOPES, ScopeByScope, type Scopes } from './scopes.js';
import { Progress } from './statement-progress.js';
import { NO_BREAKER, type StoreBreaker } from './store-breaker.js';
import { StoreUnavailableError } from './store-unavailable.error.js';
import { Tables, type TableColumn } from './tables.js';

/** Runs statements. */
export type Statements = Pick<Database, 'query'>;

/** Something that belongs to a scope. */
interface OfScope {
  scope: string;
}

const NONE: readonly never[] = [];

function notForAllScopes(): Error {
  return new IdempotencyConfigurationError(
    'rowLevelSecurity: the role of this process sees one scope at a time, and this would be for all of them. ' +
      'Use the operator, the jobs and the dead letters in a process whose role is the worker or the operator of idempotencyGrants().',
  );
}

/** Runs the library's statements, each on its own connection and within a bounded time. */
export class Database {
  /** How a statement reaches rows of several scopes. */
  readonly scopes: Scopes;
  /** For statements inside a transaction of the application. */
  readonly sender: PreparingSender;
  private readonly tables: Tables;
  private readonly scopeSetting: ScopeSetting;
  private readonly connections: Connections;
  private closed = false;
  /** The role sees the rows of the scopes that a statement is for, and no others. */
  private separated = false;

  constructor(
    dataSource: DataSource,
    private readonly timeout: number,
    schema?: string,
    /** Whether statements may stay on a connection, prepared. */
    prepares = false,
    /** Whether the tables are distributed over several nodes, by scope. */
    readonly distributed = false,
    /** Learns how statements end. Whoever begins something asks it first. */
    readonly breaker: StoreBreaker = NO_BREAKER,
  ) {
    this.scopes = distributed ? new ScopeByScope() : ALL_SCOPES;
    this.scopeSetting = distributed ? ALL_NODES : ONE_SERVER;
    this.tables = new Tables(dataSource, schema);
    this.sender = new PreparingSender(dataSource, prepares);
    this.connections = new Connections(dataSource, timeout);
  }

  /** The qualified, quoted name of the table of an entity, by the name in its decorator. */
  table(given: string): string {
    return this.tables.name(given);
  }

  /** The columns of the table of an entity, likewise. */
  columns(given: string): TableColumn[] {
    return this.tables.columns(given);
  }

  /**
   * From now on every statement says which scopes it is for, because the role of
   * this process sees no others (row-level security).
   */
  separateScopes(): void {
    this.separated = true;
  }

  get separatesScopes(): boolean {
    return this.separated;
  }

  /** With its application: nothing can be sent any more. */
  get isClosed(): boolean {
    return this.closed;
  }

  /** All connections of the pool are in use. */
  get isExhausted(): boolean {
    return this.connections.areExhausted;
  }

  /**
   * Statements for these scopes; none of them for a table without scopes. Without
   * row-level security all statements are the same.
   */
  for(names: OfScope | readonly OfScope[] = NONE, others: readonly OfScope[] = NONE): Statements {
    if (!this.separated) return this;
    const scopes = [...new Set([names, others].flat().map(({ scope }) => scope))];
    return {
      query: (statement, parameters, lane) => this.within(scopes, statement, parameters, lane),
    };
  }

  /** The rest of a transaction of the application is for these scopes. */
  async enter(runner: QueryRunner, scopes: readonly string[]): Promise<void> {
    if (!this.separated) return;
    const client = (await runner.connect()) as ClientBase;
    await this.sender.execute(client, runner, this.scopeSetting(scopes));
  }

  /** Once per application. */
  open(): void {
    this.closed = false;
    this.connections.open();
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.connections.close();
  }

  /**
   * A single statement in its own transaction, for all scopes. Safe behind a
   * transaction-pooling proxy: it does not depend on session state.
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
    if (this.separated) return Promise.reject(notForAllScopes());
    return this.within(NONE, statement, parameters, lane);
  }

  private within<Row>(
    scopes: readonly string[],
    statement: string | PreparedStatement,
    parameters: unknown[],
    lane: Lane = 'pool',
  ): Promise<Row[]> {
    const progress = new Progress();
    const begun = performance.now();
    const work = this.run<Row>(statement, parameters, lane, scopes, progress);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        progress.giveUp();
        publish('store_unavailable', () => ({ code: 'timeout' }));
        const error = new StoreUnavailableError(
          `The database did not answer within ${this.timeout} ms.`,
          { ...(progress.client && { late: work.catch(() => undefined) }) },
        );
        this.report(error, begun);
        reject(error);
      }, this.timeout);
      work.then(
        (rows) => {
          clearTimeout(timer);
          if (!progress.givenUp) this.breaker.answered();
          resolve(rows);
        },
        (error: unknown) => {
          clearTimeout(timer);
          if (!progress.givenUp) this.report(error, begun, progress.client);
          reject(error as Error);
        },
      );
    });
  }

  /**
   * An error of the database's own is an answer, too.
   *
   * @param client undefined: there was no connection, or no reply
   */
  private report(error: unknown, begun: number, client?: ClientBase): void {
    // The data source is closed as well: its errors tell nothing about the database.
    if (this.closed) return;
    const answered =
      client && (!isConnectionLoss(error) || (this.distributed && isLossOfNode(error)));
    if (answered) this.breaker.answered();
    else this.breaker.failed(begun, error);
  }

  private async run<Row>(
    statement: string | PreparedStatement,
    parameters: unknown[],
    lane: Lane,
    scopes: readonly string[],
    progress: Progress,
  ): Promise<Row[]> {
    let connection: Connection | undefined;
    try {
      connection = await this.connections.connect(lane);
      // The caller gave up while it waited for a connection: a statement sent
      // now would reserve a key that nobody runs.
      if (progress.givenUp) return [];
      const { client, runner } = connection;
      progress.client = client;
      const send = () =>
        this.sender.send<Row>(client, runner, statement, parameters, scopes.length > 0);
      return await persist(
        scopes.length === 0 ? send : () => this.inTransaction(connection!, scopes, progress, send),
        {
          within: this.timeout,
          again: (error) =>
            !progress.givenUp &&
            (isSerializationConflict(error) || (scopes.length > 0 && isUnprepared(error))),
        },
      );
    } catch (cause) {
      // A statement that found no row was answered.
      if (!progress.givenUp && !foundNoRow(cause)) {
        publish('store_unavailable', () => ({ code: errorCode(cause) ?? 'unknown' }));
      }
      // A new connection may lead to the primary; the pool would keep this one as long as it is used.
      if (connection && isReadOnlyServer(cause)) void endConnection(connection.client);
      // With its own message: only that tells an outage from missing rights or a full disk.
      const message = `The database refused or lost a statement: ${databaseWords(cause)}`;
      throw new StoreUnavailableError(message, {
        cause,
        ...(progress.client && !isRefusal(cause) && { late: Promise.resolve() }),
      });
    } finally {
      // The cancellation must not hit the next user of this connection.
      const cancelled = progress.over();
      if (cancelled) await cancelled;
      await connection?.release();
    }
  }

  /**
   * A statement that is for some scopes. The setting ends with its transaction,
   * so no other user of the connection can meet it.
   */
  private async inTransaction<Row>(
    { client, runner }: Connection,
    scopes: readonly string[],
    progress: Progress,
    send: () => Promise<Row[]>,
  ): Promise<Row[]> {
    await this.sender.execute(client, runner, { text: 'BEGIN', values: [] });
    try {
      await this.sender.execute(client, runner, this.scopeSetting(scopes));
      const rows = progress.givenUp ? [] : await send();
      await this.sender.execute(client, runner, { text: 'COMMIT', values: [] });
      return rows;
    } catch (error) {
      // If this fails too, the connection is broken, and the pool drops it.
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }
}

/** The pool forgets a connection that is released while it ends. */
async function endConnection(client: ClientBase): Promise<void> {
  await (client as Client).end().catch(() => undefined);
}
