/** The bytes of a given body, and the matching content type. */
export interface EncodedBody {
  bytes: Buffer;
  type?: string;
}

/**
 * A string or bytes as they are, everything else as JSON. Throws if it cannot be
 * written as JSON.
 */
export function encodeBody(body: unknown): EncodedBody {
  if (body === undefined) return { bytes: Buffer.alloc(0) };
  if (body instanceof Uint8Array) return { bytes: Buffer.from(body) };
  if (typeof body === 'string') {
    return { bytes: Buffer.from(body), type: 'text/plain; charset=utf-8' };
  }
  const text = JSON.stringify(body) as string | undefined;
  if (text === undefined) throw new TypeError(`body is a ${typeof body}`);
  return { bytes: Buffer.from(text), type: 'application/json; charset=utf-8' };
}
