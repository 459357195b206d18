import { HttpException } from '@nestjs/common';
import { definiteAnswer } from '../client/effect.js';
import { isLastWord } from '../policy/resolve-policy.js';
import { fromJson, toJson } from '../schema/json.js';

/**
 * Whether an exception is a definite answer. A time-out (408) is not: nobody
 * knows what happened meanwhile.
 */
export function isDefinite(error: unknown): error is HttpException {
  return error instanceof HttpException && isLastWord(error.getStatus());
}

/**
 * The definite no that an error of a foreign call stands for. What a client of
 * this package throws becomes the exception that a resume would throw.
 */
export function definiteNo(error: unknown): HttpException | undefined {
  if (isDefinite(error)) return error;
  const { status, body = '' } = definiteAnswer(error) ?? {};
  if (status === undefined || status < 400 || !isLastWord(status)) return undefined;
  const response = typeof body === 'object' && body !== null ? body : `${body as string}`;
  return new HttpException(response, status, { cause: error });
}

/**
 * An exception that is a definite answer, as JSON. @param what names it in the
 * error if it is not JSON
 */
export function rejectionOf(error: HttpException, what: string): string | undefined {
  const { name, message } = error;
  return toJson({ status: error.getStatus(), response: error.getResponse(), name, message }, what);
}

/** The same exception again: same status, same body. */
export function rejectionFrom(result: string | undefined): HttpException {
  const { status, response, ...texts } = fromJson(result) as {
    status: number;
    response: string | Record<string, unknown>;
    name: string;
    message: string;
  };
  return Object.assign(new HttpException(response, status), texts);
}
