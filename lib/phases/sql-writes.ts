const WRITE = String.raw`(?:INSERT|UPDATE|DELETE|MERGE|TRUNCATE)\b`;

/** The statements that TypeORM builds, and most that people write. */
const FIRST = new RegExp(`^\\s*${WRITE}`, 'i');

const ANYWHERE = new RegExp(`\\b${WRITE}`, 'i');

/** Where a statement can begin: after a comment, in or after a WITH, after another statement. */
const BEGINNING = new RegExp(`(?:^|[();])\\s*${WRITE}`, 'i');

/** Comments, strings and quoted names, which may contain any word. */
const QUOTED = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;

const TARGET =
  /\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?)\s+(?:ONLY\s+)?((?:"[^"]*"|[\w$]+)(?:\.(?:"[^"]*"|[\w$]+))*)/i;

/**
 * Whether a statement changes rows, judging by its text: the effects of functions
 * and procedures are not seen. `SELECT … INTO` and other statements that create
 * tables do not count, because they do not change business data.
 */
export function isWrite(sql: string): boolean {
  if (FIRST.test(sql)) return true;
  return ANYWHERE.test(sql) && BEGINNING.test(sql.replace(QUOTED, stand));
}

/** Comments count as white space, the others as a word. */
function stand(quoted: string): string {
  return quoted.startsWith('--') || quoted.startsWith('/*') ? ' ' : '_';
}

/** What a write does and to which table, such as `INSERT INTO "orders"`. */
export function describeWrite(sql: string): string {
  const [, verb, table] = TARGET.exec(sql) ?? [];
  return verb === undefined ? 'a write' : `${verb.toUpperCase().replace(/\s+/g, ' ')} ${table}`;
}
