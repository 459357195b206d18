/** What this process sends to PostgreSQL, counted at the driver that all contenders share. */
import pg from 'pg';

export interface Traffic {
  /** BEGIN and COMMIT included. */
  statements: number;
  transactions: number;
}

interface Connection {
  execute(config: object): void;
  query(text: string): void;
}

interface Client {
  _handleReadyForQuery(message: { status: string }): void;
}

/** Where the server is when it is ready again: no transaction is open. */
const IDLE = 'I';

/**
 * At the messages of the protocol, because several statements may leave with one call of
 * `client.query()`: an execution is a statement, and a server that is ready again with no
 * transaction open has just ended one.
 */
export function countTraffic(): () => Traffic {
  const connection = pg.Connection.prototype as unknown as Connection;
  const client = pg.Client.prototype as unknown as Client;
  const { execute, query } = connection;
  const { _handleReadyForQuery: handleReady } = client;
  let statements = 0;
  let transactions = 0;

  connection.execute = function (this: Connection, config) {
    statements += 1;
    execute.call(this, config);
  };
  connection.query = function (this: Connection, text) {
    statements += 1;
    query.call(this, text);
  };
  client._handleReadyForQuery = function (this: Client, message) {
    if (message.status === IDLE) transactions += 1;
    handleReady.call(this, message);
  };
  return () => ({ statements, transactions });
}
