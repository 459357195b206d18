import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Answer } from './answer.js';
import { encodeBody, type EncodedBody } from './encode-body.js';

/** An answer that somebody gives in place of the handler. */
export interface GivenAnswer {
  /** The HTTP status, from 200 to 599. */
  status: number;
  /** A string or a Buffer is sent as it is, everything else as JSON. */
  body?: unknown;
  /** @default the content type that fits the body */
  headers?: Record<string, string>;
}

/** The answer as it is stored, or a sentence that says what is wrong with it. */
export function answerFrom(given: GivenAnswer): Answer | string {
  const { status, body, headers = {} } = given ?? {};
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    return `status is ${String(status)}; use a whole number from 200 to 599.`;
  }
  let encoded: EncodedBody;
  try {
    encoded = encodeBody(body);
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch (error) {
    return `${String(error)}.`;
  }
  return {
    status,
    headers: {
      ...(encoded.type !== undefined && { 'content-type': encoded.type }),
      ...Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
      ),
    },
    body: encoded.bytes,
  };
}
