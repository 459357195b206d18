import type { Answer } from './answer.js';
import type { DescribedProblem, Dialect } from './dialect.js';
import { renderBy } from './own-dialect.js';
import { PROBLEMS, type IdempotencyProblem, type ProblemCode } from './problems.js';

/** The `type` of a problem where the application has published no specification. */
const DRAFT = 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/';

/** The part of the settings that decides how problems look. */
export interface Voice {
  dialect: Dialect;
  /** The address of the application's idempotency specification. */
  specification?: string | undefined;
}

/** A problem as an answer. */
export function renderProblem(problem: IdempotencyProblem, voice: Voice): Answer {
  const { dialect, specification } = voice;
  if (dialect === 'stripe') return renderForStripe(problem, specification);
  const ietf = () => renderForIetf(problem, specification);
  return dialect === 'ietf' ? ietf() : renderBy(dialect, describe(problem, specification), ietf);
}

function typeOf(code: ProblemCode, specification: string | undefined): string {
  return specification === undefined
    ? `urn:problem-type:idempotency:${code}`
    : `${specification}#${code}`;
}

function describe(
  problem: IdempotencyProblem,
  specification: string | undefined,
): DescribedProblem {
  const { code, detail, retryAfter, members } = problem;
  const { status, title, retryable } = PROBLEMS[code];
  return {
    code,
    type: typeOf(code, specification),
    status,
    title,
    detail,
    retryable,
    ...(retryAfter !== undefined && { retryAfter }),
    members: { ...members },
  };
}

function renderForIetf(problem: IdempotencyProblem, specification: string | undefined): Answer {
  const { status, title, retryable } = PROBLEMS[problem.code];
  return {
    status,
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      'content-language': 'en',
      'cache-control': 'no-store',
      link: `<${specification ?? DRAFT}>; rel="describedby"`,
      ...retryAfterHeader(problem),
    },
    body: json({
      type: typeOf(problem.code, specification),
      title,
      status,
      detail: problem.detail,
      code: problem.code,
      retryable,
      ...problem.members,
    }),
  };
}

/**
 * stripe-node treats a 409 or 422 without a top-level `error` as a success, and
 * ignores Retry-After.
 */
function renderForStripe(problem: IdempotencyProblem, specification: string | undefined): Answer {
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
        ...(specification !== undefined && { doc_url: typeOf(problem.code, specification) }),
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
