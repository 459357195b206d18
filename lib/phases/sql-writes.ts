const WRITE = String.raw`(?:INSERT|UPDATE|DELETE|MERGE|TRUNCATE)\b`;

/** What TypeORM builds, and most of what people write. */
const FIRST = new RegExp(`^\\s*${WRITE}`, 'i');

const ANYWHERE = new RegExp(`\\b${WRITE}`, 'i');

/** Where a statement can begin: after a comment, in or after a WITH, after another statement. */
const BEGINNING = new RegExp(`(?:^|[();])\\s*${WRITE}`, 'i');

/** Comments, texts and quoted names, which may hold any word. */
const QUOTED = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;

const TARGET =
  /\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?)\s+(?:ONLY\s+)?((?:"[^"]*"|[\w$]+)(?:\.(?:"[^"]*"|[\w$]+))*)/i;

/**
 * Whether a statement changes rows, as far as its text tells: what a function or
 * a procedure does is not seen. `SELECT … INTO` and other statements that make
 * tables do not count, since business data is not kept by them.
 */
export function isWrite(sql: string): boolean {
  if (FIRST.test(sql)) return true;
  return ANYWHERE.test(sql) && BEGINNING.test(sql.replace(QUOTED, stand));
}

/** Comments count as white space, the rest as some word. */
function stand(quoted: string): string {
  return quoted.startsWith('--') || quoted.startsWith('/*') ? ' ' : '_';
}

/** What a write does and to which table, such as `INSERT INTO "orders"`. */
export function describeWrite(sql: string): string {
  const [, verb, table] = TARGET.exec(sql) ?? [];
  return verb === undefined ? 'a write' : `${verb.toUpperCase().replace(/\s+/g, ' ')} ${table}`;
}
