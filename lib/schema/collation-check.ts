import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Database } from '../postgres/database.js';

/** A column as the database has it. */
export interface FoundColumn {
  name: string;
  /** Null for a type that has no order of texts. */
  collation: string | null;
}

/**
 * Refuses a table whose indexes depend on the order of a language. Tables that were
 * not created by the migrations have the collation of the database.
 */
export function checkCollations(
  database: Database,
  table: string,
  found: readonly FoundColumn[],
): void {
  const collations = new Map(found.map(({ name, collation }) => [name, collation]));
  const wrong = database
    .columns(table)
    .filter(({ name, collation }) => collation && collations.get(name) !== collation);
  if (wrong.length === 0) return;
  const name = database.table(table);
  const changes = wrong.map(
    (column) => `ALTER COLUMN "${column.name}" TYPE ${column.type} COLLATE "${column.collation}"`,
  );
  throw new IdempotencyConfigurationError(
    `migrations: the table ${name} has another collation than "C" for ${wrong.map((column) => column.name).join(', ')}. ` +
      'An upgrade of the operating system can change the order of a language and damage the indexes: a row that is there is then not found, and a key could be reserved twice. ' +
      `Run ALTER TABLE ${name} ${changes.join(', ')};`,
  );
}
