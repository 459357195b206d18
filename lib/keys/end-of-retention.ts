import { later } from '../postgres/times.js';
import { ANSWER_VERSION } from './stored-answer.js';

// What both the reaper and the operator do to a key at the end of its retention. Fragments of SQL;
// `k` is the row of the key.

/** The tombstone or the closing answer is kept for the key's retention again. */
const NEXT_EXPIRY = later('now()', 'k.expires_at - coalesce(k.completed_at, k.created_at)');

/**
 * A tombstone: it still shows that the key was used, and with which fingerprint.
 * Its phases are removed.
 */
export const TOMBSTONE = `
  status = 'expired', expires_at = ${NEXT_EXPIRY},
  response_status = NULL, response_headers = NULL, response_body = NULL, response_version = NULL,
  operation = NULL, input = NULL, resume_after = NULL, last_error_code = NULL, locked_until = now()`;

/**
 * Completed with an answer that no handler gave.
 * @param first the number of the first of three parameters: status, headers, body
 * @param version in SQL: how to read them
 */
export function completedWith(first: number, version = `${ANSWER_VERSION.own}`): string {
  return `
    status = 'completed', completed_at = now(), expires_at = ${NEXT_EXPIRY},
    response_status = $${first}::int, response_headers = $${first + 1}::jsonb,
    response_body = $${first + 2}::bytea, response_version = ${version},
    resume_after = NULL, reconcile_after = NULL, locked_until = now()`;
}
