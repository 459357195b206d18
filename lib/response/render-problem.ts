import type { Answer } from './answer.js';
import type { DescribedProblem, Dialect } from './dialect.js';
import { renderBy } from './own-dialect.js';
import { PROBLEMS, type IdempotencyProblem } from './problems.js';

/** In which words clients are spoken to: a part of the settings. */
export interface Voice {
  dialect: Dialect;
}

/** A problem as it leaves. */
export function renderProblem(problem: IdempotencyProblem, { dialect }: Voice): Answer {
  if (dialect === 'stripe') return renderForStripe(problem);
  const ietf = () => renderForIetf(problem);
  return dialect === 'ietf' ? ietf() : renderBy(dialect, describe(problem), ietf);
}

function describe(problem: IdempotencyProblem): DescribedProblem {
  const { code, detail, retryAfter, members } = problem;
  const { status, title, retryable } = PROBLEMS[code];
  return {
    code,
    status,
    title,
    detail,
    retryable,
    ...(retryAfter !== undefined && { retryAfter }),
    members: { ...members },
  };
}

function renderForIetf(problem: IdempotencyProblem): Answer {
  const { status, title, retryable } = PROBLEMS[problem.code];
  return {
    status,
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      'content-language': 'en',
      'cache-control': 'no-store',
      ...retryAfterHeader(problem),
    },
    body: json({
      type: `urn:problem-type:idempotency:${problem.code}`,
      title,
      status,
      detail: problem.detail,
      code: problem.code,
      retryable,
      ...problem.members,
    }),
  };
}

/** stripe-node takes a 409 or 422 without a top-level `error` for a success, and ignores Retry-After. */
function renderForStripe(problem: IdempotencyProblem): Answer {
  const { retryable, title, stripe } = PROBLEMS[problem.code];
  return {
    status: stripe.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'stripe-should-retry': String(retryable),
      ...retryAfterHeader(problem),
    },
    body: json({
      error: {
        type: stripe.type,
        code: 'code' in stripe ? stripe.code : problem.code,
        message: `${title}. ${problem.detail}`,
        ...problem.members,
      },
    }),
  };
}

function retryAfterHeader({ retryAfter }: IdempotencyProblem): Record<string, string> {
  return retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
