import type { Part } from './swagger-metadata.js';

/** The headers that the library sends, as a document describes them. */

export const RETRY_AFTER: Part = {
  'Retry-After': {
    description: 'Whole seconds until a retry, with the same key, is worth it.',
    schema: { type: 'integer', minimum: 1, maximum: 59 },
  },
};

export const REPLAYED: Part = {
  'Idempotent-Replayed': {
    description:
      'The request had been answered before, and this is the same answer. Absent the first time.',
    schema: { type: 'string', enum: ['true'] },
  },
};

export const EXPIRES: Part = {
  'Idempotency-Key-Expires': {
    description: 'Until when a retry gets the same answer, as an HTTP date.',
    schema: { type: 'string', example: 'Tue, 07 Jul 2026 12:00:00 GMT' },
  },
};

export const SHOULD_RETRY: Part = {
  'Stripe-Should-Retry': {
    description: 'Whether the same request should be sent again, for the clients of Stripe.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
};

export function locationOf(example: string): Part {
  return {
    Location: {
      description: 'Where the progress of the operation can be asked for.',
      schema: { type: 'string', format: 'uri-reference', example },
    },
  };
}
