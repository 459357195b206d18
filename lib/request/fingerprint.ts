import { hash } from 'node:crypto';
import { IdempotencyProblem } from '../answers/problems.js';
import { canonicalJson } from './canonical-json.js';

/**
 * Changes whenever the encoding below changes. Fingerprints of different versions
 * never match, so a retry after such a deployment is refused, and never matched
 * by mistake.
 */
const VERSION = '1';

/** What a retry has to repeat. */
export interface FingerprintInput {
  method: string;
  /**
   * The route's pattern, on its host if it has one; together with the params it
   * identifies the resource.
   */
  route: string;
  params: unknown;
  /** The request target, for its query. */
  url: string;
  contentType: string | undefined;
  body: unknown;
}

/**
 * SHA-256 over the parts of a request. Each part is preceded by its length, so no
 * two different lists of parts have the same encoding.
 */
export function fingerprint(input: FingerprintInput): Buffer {
  return digest([
    VERSION,
    'request',
    input.method,
    input.route,
    encode(input.params ?? {}),
    sortedQuery(input.url),
    mediaType(input.contentType),
    encode(input.body),
  ]);
}

/** The same for a route with a `fingerprint` option, whose value replaces query, media type and body. */
export function customFingerprint(
  input: Pick<FingerprintInput, 'method' | 'route' | 'params'>,
  custom: unknown,
): Buffer {
  return digest([
    VERSION,
    'custom',
    input.method,
    input.route,
    encode(input.params ?? {}),
    encode(custom),
  ]);
}

function digest(parts: readonly (string | Buffer)[]): Buffer {
  let text = '';
  for (const part of parts) {
    if (typeof part !== 'string') return hash('sha256', joined(parts), 'buffer');
    text += `${Buffer.byteLength(part)}:${part}`;
  }
  // Half the time of a hash that is asked for as a Buffer.
  return Buffer.from(hash('sha256', text, 'binary'), 'binary');
}

function joined(parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => [
      Buffer.from(`${Buffer.byteLength(part)}:`),
      typeof part === 'string' ? Buffer.from(part) : part,
    ]),
  );
}

/** A value preceded by its kind: the string `"1"`, the number 1 and the byte 0x31 are different. */
function encode(value: unknown): string | Buffer {
  if (value === undefined) return 'none';
  if (value instanceof Uint8Array) return Buffer.concat([Buffer.from('bytes:'), value]);
  // Quoted, because UTF-8 cannot encode half of a surrogate pair: all of them would have the same
  // hash.
  if (typeof value === 'string') return `text:${JSON.stringify(value)}`;
  try {
    const canonical = canonicalJson(value);
    if (canonical !== undefined) return `json:${canonical}`;
  } catch {
    // Nesting that overflows the stack, a lone surrogate, NaN or a BigInt: the
    // client's data has no canonical form, which is its mistake and not a 500.
  }
  throw bodyInvalid();
}

export function bodyInvalid(): IdempotencyProblem {
  return new IdempotencyProblem(
    'body_invalid',
    'It has no canonical JSON form (RFC 8785): it is nested too deeply or contains a value that JSON cannot hold.',
  );
}

/** `a=1&b=2` and `b=2&a=1` are one query; the order of repeated names stays. */
function sortedQuery(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) return '';
  const pairs = url
    .slice(start + 1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
      return [decode(pair.slice(0, end)), decode(pair.slice(end + 1))] as const;
    })
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return pairs.length === 0 ? '' : JSON.stringify(pairs);
}

/**
 * What cannot be decoded stays as it was sent, as it does for the application.
 * URLSearchParams would decode `%FF` and `%FE` to the same character.
 */
function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

/**
 * Without parameters: a multipart boundary differs on every retry, and the
 * charset has been decoded.
 */
function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}
