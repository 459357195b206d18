import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Logger } from '@nestjs/common';
import { BurstLog } from '../telemetry/burst-log.js';
import type { Answer } from './answer.js';
import { encodeBody } from './encode-body.js';
import type { DescribedProblem, ProblemAnswer } from './dialect.js';

const logger = new Logger('IdempotencyModule');

type DialectFunction = (problem: DescribedProblem) => ProblemAnswer;
const logs = new WeakMap<DialectFunction, BurstLog>();

/** Headers that are set when the answer is sent. */
const OF_THE_MESSAGE = ['content-length', 'transfer-encoding', 'connection'];

/**
 * The problem as the application's own dialect renders it, or the IETF document
 * if that cannot be sent.
 */
export function renderBy(
  dialect: DialectFunction,
  problem: DescribedProblem,
  otherwise: () => Answer,
): Answer {
  try {
    return answerFrom(dialect(problem), problem);
  } catch (error) {
    logOf(dialect).note(problem.code, () => {
      const reason = error instanceof Error ? error.message : String(error);
      return (
        `The dialect function failed for the problem ${problem.code}: ${reason} ` +
        'The client got the IETF problem document instead. Return { status, headers, body }, at once and for every code.'
      );
    });
    return otherwise();
  }
}

function logOf(dialect: DialectFunction): BurstLog {
  const log = logs.get(dialect) ?? new BurstLog((line) => logger.error(line));
  logs.set(dialect, log);
  return log;
}

function answerFrom(given: ProblemAnswer, problem: DescribedProblem): Answer {
  if (typeof given !== 'object' || given === null) throw new TypeError('It returned no object.');
  if (typeof (given as { then?: unknown }).then === 'function') {
    throw new TypeError('It returned a promise, for which nobody waits.');
  }
  const { status = problem.status, headers = {}, body } = given;
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new TypeError(
      `status is ${String(status)}; use a whole number from 400 to 599, or clients take a refusal for a success.`,
    );
  }
  const encoded = encodeBody(body);
  return {
    status,
    headers: {
      ...(encoded.type !== undefined && { 'content-type': encoded.type }),
      'cache-control': 'no-store',
      ...(problem.retryAfter !== undefined && { 'retry-after': String(problem.retryAfter) }),
      ...checkedHeaders(headers),
    },
    body: encoded.bytes,
  };
}

function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OF_THE_MESSAGE.includes(lower)) {
      throw new TypeError(`The header ${name} is not for it to set.`);
    }
    validateHeaderName(name);
    validateHeaderValue(name, value);
    checked[lower] = String(value);
  }
  return checked;
}
