import type { Role } from './rights.js';
import { quote, type TableName, type TableNamer } from './table-names.js';

/** The tables whose rows belong to a scope. */
export const SCOPED_TABLES = [
  'idempotency_keys',
  'idempotency_phases',
  'idempotency_outbox',
  'idempotency_audit',
  'idempotency_data_keys',
] as const satisfies readonly TableName[];

/**
 * The setting that says for which scopes a statement is. It is set for one
 * transaction, so it works behind a proxy that pools transactions.
 */
export const SCOPES_SETTING = 'idempotency.scopes';

/** The policies, by which the boot check finds out what a role sees. */
export const SCOPE_POLICY = 'idempotency_scope';
export const ALL_SCOPES_POLICY = 'idempotency_all_scopes';

/**
 * Where nothing is set, nothing is visible. After a transaction that set it, the
 * setting is empty and not missing. Not a subquery, which Citus takes in no policy: as the
 * condition of an index it is read once for each statement.
 */
const IS_OF_SCOPES = `scope = ANY (nullif(current_setting('${SCOPES_SETTING}', true), '')::text[])`;

export function enablePolicies(roles: Partial<Record<Role, string>>, table: TableNamer): string[] {
  const { application, worker, operator } = roles;
  const others = [...new Set([worker, operator])].filter((name) => name !== undefined);
  return oneStatement((each) => [
    `-- ${each}: the application sees the scopes that a statement is for`,
    `ALTER TABLE ${table(each)} ENABLE ROW LEVEL SECURITY;`,
    ...dropPolicies(table(each)),
    `CREATE POLICY ${SCOPE_POLICY} ON ${table(each)} TO ${quote(application!)} USING (${IS_OF_SCOPES}) WITH CHECK (${IS_OF_SCOPES});`,
    ...(others.length === 0
      ? []
      : [
          `CREATE POLICY ${ALL_SCOPES_POLICY} ON ${table(each)} TO ${others.map(quote).join(', ')} USING (true) WITH CHECK (true);`,
        ]),
  ]);
}

export function disablePolicies(table: TableNamer): string[] {
  return oneStatement((each) => [
    ...dropPolicies(table(each)),
    `ALTER TABLE ${table(each)} DISABLE ROW LEVEL SECURITY;`,
  ]);
}

/** Of a text with several statements, Citus would send the whole to the nodes for each of these. */
function oneStatement(linesFor: (table: TableName) => string[]): string[] {
  const lines = SCOPED_TABLES.flatMap(linesFor);
  return ['DO $policies$ BEGIN', ...lines.map((line) => `  ${line}`), 'END $policies$;'];
}

function dropPolicies(table: string): string[] {
  return [SCOPE_POLICY, ALL_SCOPES_POLICY].map(
    (policy) => `DROP POLICY IF EXISTS ${policy} ON ${table};`,
  );
}
