import { ALL_SCOPES_POLICY, SCOPE_POLICY } from '../../migrations/row-level-security.js';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Database } from '../postgres/database.js';

/** What a process expects of row-level security. */
export interface Separation {
  /** The option `rowLevelSecurity`. */
  wanted: boolean;
  /** It serves requests, each for one scope. */
  serves: boolean;
  /** Jobs or people of this process work on all scopes; what they are called. */
  forAllScopes: string | undefined;
}

interface RowSecurity {
  role: string;
  /** It is on for the table, whatever the role. */
  enabled: boolean;
  /** It applies to the role: not to an owner, a superuser or BYPASSRLS. */
  active: boolean;
  /** The policy for single scopes applies to the role. */
  scoped: boolean;
  /** The policy for all scopes applies to the role. */
  all: boolean;
}

const CURE =
  "Run what idempotencyGrants({ application, worker, operator, rowLevelSecurity: true }) from 'nestjs-atomic-idempotency/migrations' returns";

/**
 * Compares what the role sees with what the process expects, and from then on
 * sends statements by scope if the role sees single scopes only.
 */
export async function checkSeparation(
  database: Database,
  { wanted, serves, forAllScopes }: Separation,
): Promise<void> {
  const table = database.table('idempotency_keys');
  const security = await look(database, table);
  const { role } = security;
  const separated = security.active && security.scoped && !security.all;
  if (!wanted) {
    if (!separated) return;
    throw mistake(
      `row-level security is on for ${table}, and the role ${role} sees single scopes only, so every statement would find nothing. Set rowLevelSecurity: true.`,
    );
  }
  if (!security.enabled) {
    throw mistake(`row-level security is off for ${table}. ${CURE}.`);
  }
  if (serves && !separated) {
    throw mistake(
      security.active
        ? `the role ${role} serves requests, and ${security.all ? 'sees all scopes' : 'no policy of ours applies to it'}. ${CURE}, and let processes that serve requests connect as its application.`
        : `it does not apply to the role ${role}, which owns the tables, is a superuser or has BYPASSRLS. ${CURE}, and let processes that serve requests connect as its application.`,
    );
  }
  if (!separated) return;
  if (forAllScopes !== undefined) {
    throw mistake(
      `the role ${role} sees single scopes only, and ${forAllScopes} of this process would find nothing. Set maintenance: false, serve the operator page elsewhere, and run both in a process whose role is the worker of idempotencyGrants().`,
    );
  }
  database.separateScopes();
}

async function look(database: Database, table: string): Promise<RowSecurity> {
  const applies = (policy: string) => `EXISTS (
    SELECT FROM pg_policy p, unnest(p.polroles) r
    WHERE p.polrelid = c.oid AND p.polname = '${policy}' AND (r = 0 OR pg_has_role(r, 'USAGE')))`;
  const [row] = await database.query<RowSecurity>(
    `SELECT quote_ident(current_user) AS role, c.relrowsecurity AS enabled,
            row_security_active(c.oid) AS active,
            ${applies(SCOPE_POLICY)} AS scoped, ${applies(ALL_SCOPES_POLICY)} AS "all"
     FROM pg_class c WHERE c.oid = $1::regclass`,
    [table],
  );
  return row!;
}

function mistake(message: string): IdempotencyConfigurationError {
  return new IdempotencyConfigurationError(`rowLevelSecurity: ${message}`);
}
