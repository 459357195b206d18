import type { Answer } from '../answers/answer.js';
import type { ColumnCipher } from '../encryption/column-cipher.js';
import { KEY } from '../encryption/columns.js';
import type { KeyName } from '../schema/key-name.js';

/** How the columns of an answer are read, in `response_version`. */
export const ANSWER_VERSION = {
  /** As the application gave it. */
  plain: 1,
  /** Headers and body together, sealed, in `response_body`. */
  sealed: 2,
  /** An answer of the library itself, with nothing of a user in it. It is never sealed. */
  own: 3,
} as const;

/** The columns of an answer. */
export interface StoredAnswer {
  responseStatus: number | null;
  responseHeaders: Record<string, string | string[]> | null;
  responseBody: Buffer | null;
  responseVersion: number | null;
}

export const NO_ANSWER: StoredAnswer = {
  responseStatus: null,
  responseHeaders: null,
  responseBody: null,
  responseVersion: null,
};

/**
 * An answer as it is stored. Call it once: a sealed answer looks different each
 * time, and a recording whose reply was lost is recognised by its bytes.
 */
export function storedAnswer(
  cipher: ColumnCipher,
  name: KeyName,
  { status, headers, body }: Omit<Answer, 'body'> & { body: Buffer | null },
): StoredAnswer {
  if (!cipher.seals) {
    return {
      responseStatus: status,
      responseHeaders: headers,
      responseBody: body,
      responseVersion: ANSWER_VERSION.plain,
    };
  }
  return {
    responseStatus: status,
    responseHeaders: null,
    responseBody: body && cipher.bytes(framed(headers, body), KEY.answer, name),
    responseVersion: ANSWER_VERSION.sealed,
  };
}

/** Undefined if there is none, or none that this version can read. */
export function openAnswer(
  cipher: ColumnCipher,
  name: KeyName,
  { responseStatus: status, responseHeaders, responseBody, responseVersion }: StoredAnswer,
): Answer | undefined {
  if (status === null || responseBody === null) return undefined;
  switch (responseVersion) {
    case ANSWER_VERSION.plain:
      cipher.acceptPlaintext(KEY.answer);
      return { status, headers: responseHeaders ?? {}, body: responseBody };
    case ANSWER_VERSION.own:
      return { status, headers: responseHeaders ?? {}, body: responseBody };
    case ANSWER_VERSION.sealed:
      return { status, ...unframed(cipher.openBytes(responseBody, KEY.answer, name)) };
    default:
      return undefined;
  }
}

/** One value instead of two: sealing costs the same for each, however small it is. */
function framed(headers: Answer['headers'], body: Buffer): Buffer {
  const head = Buffer.from(JSON.stringify(headers));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, body]);
}

function unframed(frame: Buffer): Pick<Answer, 'headers' | 'body'> {
  const end = 4 + frame.readUInt32BE();
  const headers = JSON.parse(frame.toString('utf8', 4, end)) as Answer['headers'];
  return { headers, body: frame.subarray(end) };
}
