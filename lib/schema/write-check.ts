import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { errorCode } from '../postgres/database-errors.js';
import type { Database } from '../postgres/database.js';

/** The rights that the library needs on each table. It only adds to the audit. */
const RIGHTS: Record<string, readonly string[]> = {
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  idempotency_phases: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  idempotency_outbox: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  idempotency_audit: ['SELECT', 'INSERT'],
  idempotency_jobs: ['SELECT', 'INSERT', 'UPDATE'],
  idempotency_processes: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  idempotency_data_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

/** Columns that use a sequence, which has separate rights (an identity column has none). */
const SEQUENCES: Record<string, string> = { idempotency_outbox: 'position' };

const INSUFFICIENT_PRIVILEGE = '42501';

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

/** Refuses a role that lacks a right that the library's statements need. */
export async function checkRights(database: Database, name: string, table: string): Promise<void> {
  const rights = RIGHTS[table]!;
  const [found] = await database.query<{ missing: string[]; role: string }>(
    `SELECT ARRAY(SELECT r FROM unnest($2::text[]) r WHERE NOT has_table_privilege($1, r)) AS missing,
            quote_ident(current_user) AS role`,
    [name, rights],
  );
  const { missing, role } = found!;
  if (missing.length > 0) {
    throw new IdempotencyConfigurationError(
      `dataSource: the role ${role} has no right to ${missing.join(', ')} on the table ${name}, so requests would be refused. GRANT ${rights.join(', ')} ON ${name} TO ${role}.`,
    );
  }
  const column = SEQUENCES[table];
  if (column === undefined) return;
  const [unusable] = await database.query<{ sequence: string }>(
    `SELECT s AS sequence FROM pg_get_serial_sequence($1, $2) s
     WHERE NOT has_sequence_privilege(s, 'USAGE')`,
    [name, column],
  );
  if (unusable) {
    throw new IdempotencyConfigurationError(
      `dataSource: the role ${role} may not use the sequence ${unusable.sequence}, so no message could be added to the outbox. GRANT USAGE ON SEQUENCE ${unusable.sequence} TO ${role}.`,
    );
  }
}

/** The error of a role without USAGE on the schema. */
export function asMissingRight(error: unknown): unknown {
  if (errorCode(error) !== INSUFFICIENT_PRIVILEGE) return error;
  const { cause } = error as Error;
  return new IdempotencyConfigurationError(
    `dataSource: the tables could not be looked at: ${String((cause as Error | undefined)?.message ?? error)}. GRANT USAGE ON SCHEMA … TO the role of the data source.`,
  );
}
