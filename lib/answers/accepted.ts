import type { Answer } from './answer.js';
import { retryAfterSeconds } from './problems.js';

/**
 * 202: the work continues; ask again. It is not a problem, so it has the same
 * shape in every dialect.
 */
export function acceptedAnswer({ runningFor }: { runningFor: number }, location?: string): Answer {
  return {
    status: 202,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'retry-after': String(retryAfterSeconds(runningFor)),
      ...(location !== undefined && { location }),
    },
    body: Buffer.from(
      JSON.stringify({
        status: 'in_progress',
        detail: 'The request is being processed. Retry with the same key to get its answer.',
      }),
    ),
  };
}
