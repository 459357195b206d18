import { parseItem } from 'structured-headers';
import { IdempotencyProblem } from '../answers/problems.js';

/** The largest limit among common providers. */
export const LONGEST_KEY = 255;

interface IncomingHeaders {
  headers: Record<string, string | string[] | undefined>;
  /** Each header line by itself; Node joins them in `headers`. */
  headersDistinct?: Record<string, string[] | undefined>;
}

/** What nearly every client sends: a bare key, in one line. */
export const PLAIN_KEY = new RegExp(`^[!#-+\\--:<-~]{1,${LONGEST_KEY}}$`);

/**
 * The request's key, or undefined if there is none. Accepts the quoted form of
 * the draft (a Structured Field string, RFC 9651) and the bare form that nearly
 * every client sends; `"k"` and `k` are the same key.
 */
export function readKey(request: unknown, header: string): string | undefined {
  const sent = (request as IncomingHeaders).headers[header.toLowerCase()];
  if (typeof sent === 'string' && PLAIN_KEY.test(sent)) return sent;
  return parseKey(request, header);
}

function parseKey(request: unknown, header: string): string | undefined {
  const lines = headerLines(request as IncomingHeaders, header.toLowerCase());
  const values = lines.map(withoutOuterSpace).filter((line) => line !== '');
  if (values.length === 0) return undefined;
  // An empty line beside another one is ambiguous too.
  if (lines.length > 1) throw keyInvalid(header, 'It was sent more than once.');

  const [value] = values as [string];
  const key = value.startsWith('"') ? unquote(value, header) : value;
  if (key === '') return undefined;
  if (key.length > LONGEST_KEY) {
    throw keyInvalid(
      header,
      `It has ${key.length} characters; at most ${LONGEST_KEY} are allowed.`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw keyInvalid(header, 'Only visible ASCII characters without spaces are allowed.');
  }
  // Neither a bare key nor one quoted string: a list or parameters.
  if (!value.startsWith('"') && /[",;]/.test(key)) {
    throw keyInvalid(header, 'Lists, parameters and stray quotes are not allowed; send one key.');
  }
  return key;
}

function unquote(value: string, header: string): string {
  let item: ReturnType<typeof parseItem>;
  try {
    item = parseItem(value);
  } catch {
    throw keyInvalid(header, 'It is not a well-formed quoted string (RFC 9651).');
  }
  if (typeof item[0] !== 'string') throw keyInvalid(header, 'It is not a string.');
  if (item[1].size > 0)
    throw keyInvalid(header, 'It carries parameters, which have no meaning here.');
  return item[0];
}

/** Only HTTP's white space: `trim()` would also remove a no-break space, which is not ASCII. */
function withoutOuterSpace(line: string): string {
  return line.replace(/^[ \t]+/, '').replace(/[ \t]+$/, '');
}

function headerLines(request: IncomingHeaders, name: string): string[] {
  const joined = request.headers[name];
  if (joined === undefined) return [];
  if (Array.isArray(joined)) return joined;
  // A single line has no comma unless the key has one: the common case skips `headersDistinct`,
  // which goes through all headers.
  if (!joined.includes(',')) return [joined];
  const { raw } = request as { raw?: IncomingHeaders };
  return (raw ?? request).headersDistinct?.[name] ?? [joined];
}

export function keyMissing(header: string): IdempotencyProblem {
  return new IdempotencyProblem(
    'key_missing',
    `This operation is idempotent and requires the ${header} header, with a value that is unique to the operation, such as a UUID.`,
  );
}

export function keyInvalid(header: string, detail: string): IdempotencyProblem {
  return new IdempotencyProblem('key_invalid', `The ${header} header cannot be used. ${detail}`);
}
