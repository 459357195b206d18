import { HttpException } from '@nestjs/common';
import type { Answer, ObservedAnswer } from '../answers/answer.js';
import { isLastWord } from '../policy/resolve-policy.js';
import { rejectionFrom, rejectionOf } from '../phases/rejection.js';
import { fromJson } from '../schema/json.js';

// A call has a value and no bytes of its own, so the answer that is kept for it is
// the value as JSON. An operator who completes a key by hand writes the same.

const JSON_TYPE = { 'content-type': 'application/json' };

/** @param json undefined for `undefined` */
export function answerOfValue(json: string | undefined, maxBytes: number): ObservedAnswer {
  return { status: 200, headers: JSON_TYPE, body: within(maxBytes, json) };
}

/** The work was done, and its value cannot be kept: it is not done again. */
export const WITHOUT_VALUE: ObservedAnswer = { status: 200, headers: {}, body: undefined };

/** What an error counts as: an HttpException has its own status, any other is a 500. */
export function answerOfError(error: unknown, maxBytes: number): ObservedAnswer {
  const thrown = error instanceof HttpException ? error : asHttpException(error);
  return { status: thrown.getStatus(), headers: JSON_TYPE, body: storable(thrown, maxBytes) };
}

/** The value of a recorded answer; an error that was recorded is thrown. */
export function valueOf({ status, body }: Answer): unknown {
  const text = body.length === 0 ? undefined : body.toString();
  if (status < 400) return fromJson(text);
  throw rejected(status, text);
}

function storable(error: HttpException, maxBytes: number): Buffer | undefined {
  try {
    return within(maxBytes, rejectionOf(error, 'The exception'));
  } catch {
    // Only a final error is read again, and then as one whose words are not kept.
    return isLastWord(error.getStatus()) ? undefined : Buffer.alloc(0);
  }
}

function within(maxBytes: number, json: string | undefined): Buffer | undefined {
  const body = Buffer.from(json ?? '');
  return body.length <= maxBytes ? body : undefined;
}

/** Under its own name and with its own words, which is all that can be kept of it. */
function asHttpException(error: unknown): HttpException {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return Object.assign(new HttpException(message, 500), { name, message });
}

/** As it was recorded, or as an operator has given it. */
function rejected(status: number, text: string | undefined): HttpException {
  const recorded = fromJson(text) as { response?: unknown; name?: unknown } | undefined;
  if (recorded?.response !== undefined && typeof recorded.name === 'string') {
    return rejectionFrom(text);
  }
  return new HttpException((recorded ?? '') as string | Record<string, unknown>, status);
}
