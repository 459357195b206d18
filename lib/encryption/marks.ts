/**
 * JSON.stringify begins no text with white space, and the type json keeps it: so
 * no JSON of a user looks like a sealed value.
 */
const JSON_MARK = ' "';
/** No plain text in our columns begins with it: `withoutMark` sees to that. */
const TEXT_MARK = '\u0001';

export function asSealedJson(value: Buffer): string {
  return `${JSON_MARK}${value.toString('base64')}"`;
}

/** Undefined: it is not sealed. */
export function fromSealedJson(stored: string): Buffer | undefined {
  if (!stored.startsWith(JSON_MARK)) return undefined;
  return Buffer.from(stored.slice(JSON_MARK.length, -1), 'base64');
}

export function asSealedText(value: Buffer): string {
  return TEXT_MARK + value.toString('base64');
}

/** Undefined: it is not sealed. */
export function fromSealedText(stored: string): Buffer | undefined {
  if (!stored.startsWith(TEXT_MARK)) return undefined;
  return Buffer.from(stored.slice(TEXT_MARK.length), 'base64');
}

/** A plain text that could be taken for a sealed one begins with a replacement character instead. */
export function withoutMark(text: string): string {
  return text.startsWith(TEXT_MARK) ? `\ufffd${text.slice(TEXT_MARK.length)}` : text;
}

/** In SQL: a json column has a value that is not sealed. */
export function isPlainJson(column: string): string {
  return `(${column} IS NOT NULL AND left(${column}::text, 1) <> ' ')`;
}

/** The same for a text column. */
export function isPlainText(column: string): string {
  return `(${column} IS NOT NULL AND left(${column}, 1) <> chr(1))`;
}
