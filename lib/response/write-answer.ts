import type { ServerResponse } from 'node:http';
import type { Answer } from '../answers/answer.js';
import { hasMessage } from './raw-head.js';
import {
  hasNoContent,
  headersOfAnotherAnswer,
  resetHeaders,
  type Headers,
} from './response-headers.js';

/**
 * Sends an answer together with the headers that others have set, in place of
 * what was prepared.
 */
export function writeAnswer(raw: ServerResponse, answer: Answer, surroundings: Headers): void {
  const { status, body } = answer;
  const headers = headersOfAnotherAnswer(surroundings, answer.headers);
  raw.statusCode = status;
  // The reason phrase of the original does not fit; Node fills in the right one.
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
