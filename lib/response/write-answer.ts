import type { ServerResponse } from 'node:http';
import type { Answer } from '../answers/answer.js';
import { hasMessage } from './raw-head.js';
import {
  hasNoContent,
  headersOfAnotherAnswer,
  resetHeaders,
  type Headers,
} from './response-headers.js';

/** Sends an answer among the headers that surround it, in place of whatever was prepared. */
export function writeAnswer(raw: ServerResponse, answer: Answer, surroundings: Headers): void {
  const { status, body } = answer;
  const headers = headersOfAnotherAnswer(surroundings, answer.headers);
  raw.statusCode = status;
  // The reason phrase of the original does not fit; node fills in the right one.
  if (hasMessage(raw)) raw.statusMessage = '';

  if (hasNoContent(status)) {
    resetHeaders(raw, headers);
    raw.end();
  } else {
    headers['content-length'] = String(body.length);
    resetHeaders(raw, headers);
    raw.end(body);
  }
}
