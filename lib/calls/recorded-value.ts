import { HttpException } from '@nestjs/common';
import type { Answer, ObservedAnswer } from '../answers/answer.js';
import { isLastWord } from '../policy/resolve-policy.js';
import { rejectionFrom, rejectionOf } from '../phases/rejection.js';
import type { DefiniteErrors } from './definite-errors.js';
import { fromJson, toJson } from '../schema/json.js';

// A call has a value and no bytes of its own, so the answer that is kept for it is
// the value as JSON. An operator who completes a key by hand writes the same.

const JSON_TYPE = { 'content-type': 'application/json' };

/** In errors about what cannot be stored; nobody sees them. */
const WHAT = 'The exception';

/** @param json undefined for `undefined` */
export function answerOfValue(json: string | undefined, maxBytes: number): ObservedAnswer {
  return { status: 200, headers: JSON_TYPE, body: within(maxBytes, json) };
}

/** How values are kept as JSON text. The text is undefined for `undefined`. */
export interface RecordedValues {
  /** Throws where it cannot be kept. @param what names the value in errors */
  toJson(value: unknown, what: string): string | undefined;
  fromJson(text: string | undefined): unknown;
}

/** As JSON has them: a date becomes a text. */
export const JSON_VALUES: RecordedValues = { toJson, fromJson };

/** The work was done, and its value cannot be kept: it is not done again. */
export const WITHOUT_VALUE: ObservedAnswer = { status: 200, headers: {}, body: undefined };

/**
 * What an error counts as: an HttpException has its own status, an error that the
 * caller's transport has for definite answers is like one, and any other is a 500.
 */
export function answerOfError(
  error: unknown,
  maxBytes: number,
  errors?: DefiniteErrors,
): ObservedAnswer {
  const own = errors?.keep(error);
  if (own) {
    const { status, kept } = own;
    return {
      status,
      headers: JSON_TYPE,
      body: keptBody(status, { [errors!.name]: kept }, maxBytes),
    };
  }
  const thrown = error instanceof HttpException ? error : asHttpException(error);
  return { status: thrown.getStatus(), headers: JSON_TYPE, body: storable(thrown, maxBytes) };
}

/** What was recorded: a value, or an error that was final. */
export function endOf(
  { status, body }: Answer,
  form: { errors?: DefiniteErrors | undefined; values?: RecordedValues | undefined },
): { value: unknown } | { error: unknown; final: true; outcome: 'completed'; attempt: 1 } {
  const text = body.length === 0 ? undefined : body.toString();
  const { errors, values = JSON_VALUES } = form;
  if (status < 400) return { value: values.fromJson(text) };
  const error = rejected(status, text, errors);
  return { error, final: true, outcome: 'completed', attempt: 1 };
}

function storable(error: HttpException, maxBytes: number): Buffer | undefined {
  return orWithoutWords(error.getStatus(), () => within(maxBytes, rejectionOf(error, WHAT)));
}

function keptBody(status: number, kept: object, maxBytes: number): Buffer | undefined {
  return orWithoutWords(status, () => within(maxBytes, toJson(kept, WHAT)));
}

/** Only a final error is read again, and then as one whose words are not kept. */
function orWithoutWords(status: number, body: () => Buffer | undefined): Buffer | undefined {
  try {
    return body();
  } catch {
    return isLastWord(status) ? undefined : Buffer.alloc(0);
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
function rejected(status: number, text: string | undefined, errors?: DefiniteErrors): unknown {
  const recorded = fromJson(text) as Record<string, unknown> | undefined;
  if (errors && recorded && typeof recorded === 'object' && Object.hasOwn(recorded, errors.name)) {
    return errors.revive(recorded[errors.name]);
  }
  if (recorded?.response !== undefined && typeof recorded.name === 'string') {
    return rejectionFrom(text);
  }
  return new HttpException((recorded ?? '') as string | Record<string, unknown>, status);
}
