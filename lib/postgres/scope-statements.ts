import { SCOPES_SETTING } from '../../migrations/row-level-security.js';

/** How a transaction is told which scopes its statements are for: with row-level security, no others are seen. */
export type ScopeSetting = (scopes: readonly string[]) => { text: string; values: unknown[] };

/** All tables are on one server. */
export const ONE_SERVER: ScopeSetting = (scopes) => ({
  text: `SELECT set_config('${SCOPES_SETTING}', $1::text[]::text, true)`,
  values: [scopes],
});

/**
 * The tables are on several nodes, and the policies are checked there. Citus hands a
 * setting on only if it is a SET LOCAL, which takes no parameters, and only if it is told to.
 */
export const ALL_NODES: ScopeSetting = (scopes) => ({
  text: `SET LOCAL citus.propagate_set_commands TO 'local'; SET LOCAL ${SCOPES_SETTING} TO ${literal(arrayOf(scopes))}`,
  values: [],
});

/** As PostgreSQL writes an array of texts. */
function arrayOf(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join()}}`;
}

/** With a leading E, whatever `standard_conforming_strings` is. */
function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
