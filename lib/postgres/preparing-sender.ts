import { Logger } from '@nestjs/common';
import type { DataSource, QueryRunner } from 'typeorm';
import { isUnprepared } from './database-errors.js';
import { sendStatement, type DriverStatement, type QueriedRows } from './driver-statement.js';
import type { PreparedStatement } from './prepared-statement.js';

/**
 * Sends statements on a connection, prepared if they may stay there. A client is a `ClientBase` of pg,
 * whose types are not named here, because not everybody has them.
 */
export class PreparingSender {
  constructor(
    private readonly dataSource: DataSource,
    private prepares: boolean,
  ) {}

  /**
   * A statement of the library. If it cannot be prepared, it is sent again without a name.
   *
   * @param inTransaction its transaction fails with it, and is repeated by the caller
   */
  async send<Row>(
    client: object,
    runner: QueryRunner | undefined,
    statement: string | PreparedStatement,
    values: unknown[],
    inTransaction: boolean,
  ): Promise<Row[]> {
    const prepared = typeof statement === 'string' ? undefined : statement;
    const text = prepared ? prepared.text : (statement as string);
    const name = this.prepares ? prepared?.nextName() : undefined;
    try {
      return (await this.execute(client, runner, { name, text, values })).rows as Row[];
    } catch (error) {
      if (name === undefined || !isUnprepared(error) || inTransaction) throw error;
      return (await this.execute(client, runner, { text, values })).rows as Row[];
    }
  }

  /**
   * A statement inside a transaction of the application, on pg's client of its runner. If it cannot be
   * prepared, the transaction has to be repeated; from then on it is sent without a name.
   */
  sendIn(
    runner: QueryRunner,
    client: object,
    statement: PreparedStatement,
    values: unknown[],
    send: Send = sendStatement,
  ): Promise<unknown> {
    const name = this.prepares ? statement.nextName() : undefined;
    return this.execute(client, runner, { name, text: statement.text, values }, send);
  }

  /**
   * TypeORM cannot name a statement, so it is sent through the driver, and
   * reported to TypeORM's logger.
   */
  execute<Result = QueriedRows>(
    client: object,
    runner: QueryRunner | undefined,
    statement: DriverStatement,
    send: Send<Result> = sendStatement as Send<Result>,
  ): Promise<Result> {
    const { logger } = this.dataSource;
    const { name, text, values } = statement;
    logger.logQuery(text, values, runner);
    return send(client, statement).catch((error: unknown) => {
      logger.logQueryError(error as Error, text, values, runner);
      if (name !== undefined && isUnprepared(error)) this.stopPreparing(error);
      throw error;
    });
  }

  private stopPreparing(reason: unknown): void {
    if (!this.prepares) return;
    this.prepares = false;
    new Logger('IdempotencyModule').warn(
      `A prepared statement was not found where it had been prepared, as behind a proxy that pools transactions. From here on statements are sent without a name. (${String(reason)})`,
    );
  }
}

/** Sends a statement through the driver. @param client a `ClientBase` of pg */
type Send<Result = unknown> = (client: object, statement: DriverStatement) => Promise<Result>;
