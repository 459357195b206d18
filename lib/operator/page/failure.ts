import { HttpException, Logger } from '@nestjs/common';
import { StoreUnavailableError } from '../../postgres/store-unavailable.error.js';
import { errorLine } from '../../telemetry/error-line.js';
import { FormFault } from './decision.js';

const logger = new Logger('IdempotencyOperatorPage');

/** Why something could not be done, in words for the person who asked for it. */
export interface Failure {
  status: number;
  title: string;
  detail: string;
}

/** An unexpected error goes to the log; the person does not see its message. */
export function failureOf(error: unknown): Failure {
  if (error instanceof FormFault) {
    return { status: 400, title: 'Nothing was changed', detail: error.message };
  }
  // Thrown by `access` about one key: the person is known by then.
  if (error instanceof HttpException) {
    return { status: error.getStatus(), title: 'Nothing was changed', detail: error.message };
  }
  logger.error(`The operator page failed: ${errorLine(error)}`);
  return error instanceof StoreUnavailableError
    ? {
        status: 503,
        title: 'Not now',
        detail: 'The database did not answer in time. Try again.',
      }
    : {
        status: 500,
        title: 'Something went wrong',
        detail: 'The log of the application has the reason.',
      };
}
