import type { DataSource, QueryRunner } from 'typeorm';
import {
  AUDIT_ID,
  DRAWS_POSITION,
  HEALTH_COLUMNS,
  POSITION,
  rightsFor,
  ROLES,
  writesAudit,
  type Role,
} from './rights.js';
import { disablePolicies, enablePolicies } from './row-level-security.js';
import { plainTable, quote, tableName, type TableNamer } from './table-names.js';

export interface IdempotencyGrants {
  /** The role of the processes that serve requests. */
  application?: string;
  /** The role of the processes that run the jobs, and of those in which people decide. */
  worker?: string;
  /** The role of people and pages that only read (`readOnly: true`). */
  operator?: string;
  /** The data source of the tables, for its schema, `entityPrefix` and naming strategy: `queryRunner.connection` in a migration. */
  dataSource?: DataSource;
  /** The schema of the tables, as in `forRoot({ schema })`, or that of the data source. */
  schema?: string;
  /** The prefix of the tables, if there is no `dataSource` here to know it from. */
  entityPrefix?: string;
  /**
   * True: the application's role sees and changes rows of the scopes that a
   * statement is for, and no others (`forRoot({ rowLevelSecurity: true })`). False
   * takes that back.
   * @default it stays as it is
   */
  rowLevelSecurity?: boolean;
}

/**
 * The rights of three database roles, as SQL for a migration of yours or for psql.
 * Run it as the owner of the tables, after their migrations; the roles have to
 * exist. It can be run again.
 */
export function idempotencyGrants(grants: IdempotencyGrants): string {
  const roles = rolesOf(grants);
  const table = namerOf(grants);
  const statements = roles.flatMap(([role, name]) => grantsOf(role, name, table));
  const { rowLevelSecurity } = grants;
  if (rowLevelSecurity !== undefined) {
    statements.push(
      '',
      ...(rowLevelSecurity
        ? enablePolicies(Object.fromEntries(roles), table)
        : disablePolicies(table)),
    );
  }
  return `${statements.join('\n')}\n`;
}

function rolesOf(grants: IdempotencyGrants): [Role, string][] {
  const roles = (Object.keys(ROLES) as Role[]).flatMap((role): [Role, string][] => {
    const name: unknown = grants[role];
    if (name === undefined) return [];
    if (typeof name !== 'string' || name === '') {
      throw new TypeError(`idempotencyGrants: ${role} is not the name of a role.`);
    }
    return [[role, name]];
  });
  if (roles.length === 0) {
    throw new TypeError(
      `idempotencyGrants: no role is named. Give the names of database roles as ${Object.keys(ROLES).join(', ')}.`,
    );
  }
  const { application, worker, operator } = grants;
  if (
    grants.rowLevelSecurity &&
    (application === undefined || [worker, operator].includes(application))
  ) {
    throw new TypeError(
      'idempotencyGrants: rowLevelSecurity needs an application role of its own. The roles of the jobs and of operators see all scopes.',
    );
  }
  return roles;
}

function namerOf({ dataSource, schema, entityPrefix = '' }: IdempotencyGrants): TableNamer {
  // All that is read of a query runner is its data source.
  const runner = dataSource && ({ connection: dataSource } as QueryRunner);
  return (table) =>
    runner ? tableName(runner, table, schema) : plainTable(`${entityPrefix}${table}`, schema);
}

function grantsOf(role: Role, name: string, table: TableNamer): string[] {
  const to = quote(name);
  const purposes = ROLES[role];
  const lines = [`-- ${role}`, usageOfSchema(table('idempotency_keys'), to)];
  for (const [of, rights] of rightsFor(purposes)) {
    lines.push(`GRANT ${[...rights].join(', ')} ON ${table(of)} TO ${to};`);
  }
  if (role === 'application') {
    lines.push(`GRANT SELECT (${HEALTH_COLUMNS.join(', ')}) ON ${table(POSITION.table)} TO ${to};`);
  }
  if (purposes.some((purpose) => DRAWS_POSITION.has(purpose))) {
    lines.push(usageOfSequence(table(POSITION.table), POSITION.column, to));
  }
  if (purposes.some(writesAudit)) {
    lines.push(usageOfSequence(table(AUDIT_ID.table), AUDIT_ID.column, to));
  }
  return lines;
}

/** The schema is where the table is found, whether it is named or in the search path. */
function usageOfSchema(table: string, to: string): string {
  return execute(
    `'GRANT USAGE ON SCHEMA %s TO %s', (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = ${literal(table)}::regclass), ${literal(to)}`,
  );
}

function usageOfSequence(table: string, column: string, to: string): string {
  return execute(
    `'GRANT USAGE ON SEQUENCE %s TO %s', pg_get_serial_sequence(${literal(table)}, '${column}'), ${literal(to)}`,
  );
}

/** Only the database knows these names. */
function execute(format: string): string {
  return `DO $grant$ BEGIN EXECUTE format(${format}); END $grant$;`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
