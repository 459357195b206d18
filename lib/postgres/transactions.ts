import type { ClientBase } from 'pg';
import { QueryFailedError, type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import type { Database } from './database.js';
import type { PreparedStatement } from './prepared-statement.js';
import { sendQuery, type DriverStatement } from './driver-statement.js';
import {
  canShareTrips,
  followedQuery,
  FollowingFailed,
  Preceding,
  type FollowedQuery,
} from './same-trip.js';

/** The statement that ends a transaction of the application. If it fails, nothing is committed. */
export interface LastStatement {
  /** The scope that it is for. */
  scope: string;
  statement: PreparedStatement;
  parameters: unknown[];
  /** What to throw if it fails. */
  failure: (error: unknown) => unknown;
}

/** The statements with which TypeORM begins a transaction. */
const BEGIN = /^(START TRANSACTION|SET TRANSACTION ISOLATION LEVEL)\b/;

/**
 * Transactions of the application that end with a statement of the library.
 *
 * Their frame costs no round trips of its own: BEGIN is sent with the first
 * statement, and COMMIT with the last one. An error of the last statement makes
 * the server skip the COMMIT, and a lost connection rolls back what was sent, as
 * in any transaction.
 */
export class Transactions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly database: Database,
  ) {}

  /**
   * @param work returns the last statement, if there is to be one; it gets pg's client as well
   * @param begun is told that the transaction has begun
   * @returns false if the work sent nothing: then the last statement was not sent either
   */
  async run(
    work: (tx: EntityManager, client: object) => Promise<LastStatement | undefined>,
    begun: () => void,
  ): Promise<boolean> {
    const runner = this.dataSource.createQueryRunner();
    let frame: Frame | undefined;
    try {
      const client = (await runner.connect()) as ClientBase;
      frame = this.frameOf(runner, client, begun);
      await runner.startTransaction();
      if (!frame) begun();
      const last = await work(runner.manager, client);
      if (frame) frame.endWith(last);
      else if (last) await this.send(runner, client, last);
      await runner.commitTransaction();
      return frame?.used ?? true;
    } catch (error) {
      // The error of the work says more than that of a rollback.
      await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
      frame?.remove();
    }
  }

  private async send(runner: QueryRunner, client: ClientBase, last: LastStatement): Promise<void> {
    const { scope, statement, parameters, failure } = last;
    if (this.database.separatesScopes) await this.database.enter(runner, [scope]);
    const { sender } = this.database;
    await sender.sendIn(runner, client, statement, parameters).catch((error: unknown) => {
      throw failure(error);
    });
  }

  /** Undefined where BEGIN and COMMIT have to be sent by themselves. */
  private frameOf(runner: QueryRunner, client: ClientBase, begun: () => void): Frame | undefined {
    // A coordinator plans each statement by itself, so it gains nothing.
    if (this.database.distributed || !canShareTrips(client)) return undefined;
    return new Frame(this.database, runner, client, begun);
  }
}

/** Begins and ends one transaction as TypeORM does, with fewer round trips. */
class Frame {
  private readonly begin: Preceding;
  private readonly original: QueryRunner['query'];
  private last: LastStatement | undefined;
  private committing = false;
  /** The work has asked for a statement, which may not have been sent yet: nobody has to await it. */
  private asked = false;
  /** There was something to commit. */
  used = true;

  constructor(
    private readonly database: Database,
    private readonly runner: QueryRunner,
    private readonly client: ClientBase,
    begun: () => void,
  ) {
    this.begin = new Preceding(client, begun);
    this.original = runner.query;
    const query = this.original.bind(runner) as Query;
    // TypeORM sends the frame through this method too, between the events for its subscribers.
    // Statements of the work pass at once, so that the last statement does not overtake them.
    const framed: Query = (text, ...rest) => {
      const send = () => query(text, ...rest);
      const frame = this.frame(text, send);
      this.asked ||= frame === undefined;
      return frame ?? send();
    };
    runner.query = framed as QueryRunner['query'];
  }

  /** TypeORM's runner outlives its transaction, and would keep the objects of the request. */
  remove(): void {
    this.runner.query = this.original;
  }

  /** The work is done. TypeORM's next COMMIT leaves with the last statement. */
  endWith(last: LastStatement | undefined): void {
    this.last = last;
    this.committing = true;
  }

  /** What TypeORM gets for a statement of the frame; undefined if it has to be sent as it is. */
  private frame(text: string, send: () => Promise<unknown>): Promise<unknown> | undefined {
    if (BEGIN.test(text) && !this.begin.done) {
      this.begin.add(text);
      return this.logged(text);
    }
    if (text === 'ROLLBACK') return this.isUnused() ? this.logged(text) : undefined;
    if (text !== 'COMMIT' || !this.committing) return undefined;
    this.committing = false;
    this.used = !this.isUnused();
    if (!this.used) return this.logged(text);
    return this.last && this.end(this.last, text, send);
  }

  /** Then BEGIN will not be sent either. */
  private isUnused(): boolean {
    return !this.asked && this.begin.withdraw();
  }

  private end(last: LastStatement, commit: string, send: () => Promise<unknown>): Promise<unknown> {
    if (!this.database.separatesScopes) return this.sendLast(last, commit, send);
    return this.database.enter(this.runner, [last.scope]).then(
      () => this.sendLast(last, commit, send),
      (error: unknown) => {
        throw last.failure(error);
      },
    );
  }

  /** COMMIT is sent by itself if it was not sent before: a package that wraps the driver may drop it. */
  private sendLast(
    { statement, parameters, failure }: LastStatement,
    commit: string,
    send: () => Promise<unknown>,
  ): Promise<unknown> {
    let query: FollowedQuery | undefined;
    const sendBoth = (client: object, first: DriverStatement) => {
      query = followedQuery(client, first, commit);
      return sendQuery(client, query);
    };
    const { runner, client, database } = this;
    return database.sender.sendIn(runner, client, statement, parameters, sendBoth).then(
      () => {
        if (query?.followed === undefined) return send();
        this.log(commit);
        return undefined;
      },
      (error: unknown) => {
        // As from TypeORM: a deferred constraint, for example, fails the COMMIT.
        if (!(error instanceof FollowingFailed)) throw failure(error);
        throw new QueryFailedError(commit, undefined, error.cause);
      },
    );
  }

  /** For a statement that TypeORM need not send. */
  private logged(text: string): Promise<unknown> {
    this.log(text);
    return NO_ROWS;
  }

  private log(text: string): void {
    this.runner.manager.connection.logger.logQuery(text, undefined, this.runner);
  }
}

/** TypeORM does not look at the result of a statement of the frame. */
const NO_ROWS = Promise.resolve();

type Query = (text: string, ...rest: unknown[]) => Promise<unknown>;
