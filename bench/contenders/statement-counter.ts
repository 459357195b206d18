import pg from 'pg';

interface Client {
  inTransaction?: boolean;
  query(...args: unknown[]): unknown;
}

/**
 * Counts what this process sends to PostgreSQL, at the driver that all contenders
 * share. A statement outside of BEGIN and COMMIT is a transaction by itself.
 */
export function countStatements(): () => { statements: number; transactions: number } {
  const client = pg.Client.prototype as unknown as Client;
  const { query } = client;
  let statements = 0;
  let transactions = 0;

  client.query = function (this: Client, ...args: unknown[]) {
    statements += 1;
    const verb = verbOf(args[0]);
    if (verb === 'BEGIN' || verb === 'START') this.inTransaction = true;
    else if (verb === 'COMMIT' || verb === 'ROLLBACK' || verb === 'END') {
      this.inTransaction = false;
      transactions += 1;
    } else if (!this.inTransaction) transactions += 1;
    return query.apply(this, args);
  };
  return () => ({ statements, transactions });
}

/** ROLLBACK TO a savepoint ends nothing. */
function verbOf(query: unknown): string {
  const text = typeof query === 'string' ? query : ((query as { text?: string }).text ?? '');
  const start = text.slice(0, 40).trimStart().toUpperCase();
  return start.startsWith('ROLLBACK TO') ? '' : (/^[A-Z]+/.exec(start)?.[0] ?? '');
}
