import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Database } from '../postgres/database.js';

/** Refuses a server or a connection that accepts no writes: every request would get 503. */
export async function checkWritable(database: Database): Promise<void> {
  const [server] = await database.query<{ standby: boolean; readOnly: boolean; role: string }>(
    `SELECT pg_is_in_recovery() AS standby, quote_ident(current_user) AS role,
            current_setting('transaction_read_only') = 'on' AS "readOnly"`,
    [],
  );
  const { standby, readOnly, role } = server!;
  if (standby) {
    throw new IdempotencyConfigurationError(
      "dataSource: the database server is a standby, which takes no writes, so no key could be reserved. Connect the data source to the primary server (with TypeORM's replication option: as its master).",
    );
  }
  if (readOnly) {
    throw new IdempotencyConfigurationError(
      `dataSource: the transactions of the role ${role} are read-only, so no key could be reserved. ` +
        `Turn default_transaction_read_only off, where it was turned on: ALTER ROLE ${role} SET default_transaction_read_only = off, the same with ALTER DATABASE, or in the options of the connection.`,
    );
  }
}
