import { HttpException } from '@nestjs/common';
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
