import {
  AUDIT_ID,
  DRAWS_POSITION,
  POSITION,
  RIGHTS,
  rightsFor,
  writesAudit,
  type Purpose,
} from '../../migrations/rights.js';
import type { TableName } from '../../migrations/table-names.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { errorCode } from '../postgres/database-errors.js';
import type { Database } from '../postgres/database.js';

export type { Purpose } from '../../migrations/rights.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/** Who needs a right, in a sentence. */
const NEEDED_BY: Record<Purpose, string> = {
  requests: 'requests with a key need',
  reports: 'every process needs to report itself',
  sweeper: 'the sweeper needs',
  completer: 'the completer needs',
  reconciler: 'the reconciler needs',
  reaper: 'the reaper needs',
  outbox: 'the outbox job needs',
  resolutions: 'webhooks need',
  decisions: 'the operator page needs',
  reading: 'an operator who reads needs',
};

interface Missing {
  table: TableName;
  right: string;
  role: string;
}

/** Refuses a role that lacks a right that the work of this process needs. */
export async function checkRights(database: Database, purposes: readonly Purpose[]): Promise<void> {
  const needed = [...rightsFor(purposes)].flatMap(([table, rights]) =>
    [...rights].map((right) => ({ table, right })),
  );
  const missing = await database.query<Missing>(
    `SELECT given AS "table", r AS "right", quote_ident(current_user) AS role
     FROM unnest($1::text[], $2::text[], $3::text[]) AS n (given, t, r)
     WHERE NOT has_table_privilege(t, r)`,
    [
      needed.map(({ table }) => table),
      needed.map(({ table }) => database.table(table)),
      needed.map(({ right }) => right),
    ],
  );
  if (missing.length > 0) throw lacking(database, purposes, missing);
  if (purposes.some((purpose) => DRAWS_POSITION.has(purpose))) {
    await checkSequence(database, POSITION, 'no message could be added to the outbox');
  }
  if (database.distributed && purposes.some(writesAudit)) {
    await checkSequence(database, AUDIT_ID, 'no decision could be recorded');
  }
}

/** With every table at once: nobody wants to boot five times. */
function lacking(
  database: Database,
  purposes: readonly Purpose[],
  missing: readonly Missing[],
): IdempotencyConfigurationError {
  const { role } = missing[0]!;
  const lines = [...new Set(missing.map(({ table }) => table))].map((table) => {
    const rights = missing.filter((each) => each.table === table).map(({ right }) => right);
    const purpose = purposes.find((each) =>
      RIGHTS[each][table]?.some((right) => rights.includes(right)),
    )!;
    return {
      what: `no right to ${rights.join(', ')} on the table ${database.table(table)}, which ${NEEDED_BY[purpose]}`,
      cure: `GRANT ${rights.join(', ')} ON ${database.table(table)} TO ${role};`,
    };
  });
  return new IdempotencyConfigurationError(
    `dataSource: the role ${role} has ${lines.map(({ what }) => what).join('; ')}. ` +
      `${lines.map(({ cure }) => cure).join(' ')} ` +
      "(idempotencyGrants() from 'nestjs-atomic-idempotency/migrations' returns the statements for all roles.)",
  );
}

async function checkSequence(
  database: Database,
  { table, column }: { table: TableName; column: string },
  otherwise: string,
): Promise<void> {
  const [unusable] = await database.query<{ sequence: string; role: string }>(
    `SELECT s AS sequence, quote_ident(current_user) AS role FROM pg_get_serial_sequence($1, $2) s
     WHERE NOT has_sequence_privilege(s, 'USAGE')`,
    [database.table(table), column],
  );
  if (!unusable) return;
  const { sequence, role } = unusable;
  throw new IdempotencyConfigurationError(
    `dataSource: the role ${role} may not use the sequence ${sequence}, so ${otherwise}. GRANT USAGE ON SEQUENCE ${sequence} TO ${role}.`,
  );
}

/** The error of a role without USAGE on the schema. */
export function asMissingRight(error: unknown): unknown {
  if (errorCode(error) !== INSUFFICIENT_PRIVILEGE) return error;
  const { cause } = error as Error;
  return new IdempotencyConfigurationError(
    `dataSource: the tables could not be looked at: ${String((cause as Error | undefined)?.message ?? error)}. GRANT USAGE ON SCHEMA … TO the role of the data source.`,
  );
}
