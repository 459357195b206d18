import type { FingerprintInput } from './fingerprint.js';

/** In bytes of the body, and in characters of the text: a longer one is not worth its memory. */
const LONGEST = 1_024;

/** Other parsers create what JSON.stringify does not tell apart. */
const JSON_TYPE = /^application\/json(;|$)/;

/**
 * A request as a text that costs a fraction of its fingerprint: members are not sorted, and nothing is
 * hashed. Requests with equal texts have equal fingerprints; the reverse need not be true.
 *
 * @param contentLength the header
 * @returns undefined where that is not certain, or where the text would be long
 */
export function requestText(
  { method, route, params, url, contentType, body }: FingerprintInput,
  contentLength: string | string[] | undefined,
): string | undefined {
  if (contentType === undefined || !JSON_TYPE.test(contentType)) return undefined;
  if (!(Number(contentLength) <= LONGEST) || body instanceof Uint8Array) return undefined;
  try {
    // None of the parts can contain a line break.
    const text = `${method}\n${route}\n${url}\n${contentType}\n${JSON.stringify(params)}\n${JSON.stringify(body)}`;
    // A number that is too large, such as 1e999, is Infinity: JSON.stringify writes null, and a fingerprint refuses it.
    return text.length > LONGEST || text.includes('null') ? undefined : text;
  } catch {
    // A BigInt, for example: the fingerprint refuses it with an answer for the client.
    return undefined;
  }
}
