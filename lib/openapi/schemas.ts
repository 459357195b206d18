import { PROBLEMS } from '../answers/problems.js';
import { namedSchema, type Part } from './swagger-metadata.js';

const codes = Object.keys(PROBLEMS);
const stripeTypes = [...new Set(Object.values(PROBLEMS).map(({ stripe }) => stripe.type))];

/** The problem documents of the IETF dialect. */
export const PROBLEM_SCHEMA = namedSchema('IdempotencyProblem', {
  description: 'Why an idempotent request was not run (RFC 9457).',
  properties: {
    type: { type: 'string', format: 'uri', description: 'One for each code.' },
    title: { type: 'string', description: 'The same for all problems of a code.' },
    status: { type: 'integer', description: 'The status of the response.' },
    detail: { type: 'string', description: 'A sentence about this occurrence, for developers.' },
    code: { type: 'string', enum: codes, description: 'For programs.' },
    retryable: {
      type: 'boolean',
      description: 'The same request may be sent again, under the same key.',
    },
    original_status: {
      type: 'integer',
      description: 'Of response_unavailable: the status that the operation ended with.',
    },
    limit: { type: 'string', description: 'Of rate_limited: the limit that was met.' },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'retryable'],
});

/** The errors of Stripe's dialect. */
export const STRIPE_SCHEMA = namedSchema('IdempotencyError', {
  description: 'Why an idempotent request was not run.',
  properties: {
    error: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: stripeTypes },
        code: { type: 'string', description: 'For programs.' },
        message: { type: 'string', description: 'For developers.' },
        doc_url: { type: 'string', format: 'uri', description: 'More about this error.' },
        original_status: {
          type: 'integer',
          description: 'Of response_unavailable: the status that the operation ended with.',
        },
        limit: { type: 'string', description: 'Of rate_limited: the limit that was met.' },
      },
      required: ['type', 'code', 'message'],
    },
  },
  required: ['error'],
});

/** What a 202 says. Without a name of its own, because most documents have no 202. */
export const ACCEPTED_SCHEMA: Part = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['in_progress'] },
    detail: { type: 'string' },
  },
  required: ['status', 'detail'],
};
