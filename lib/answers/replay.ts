import type { Answer } from './answer.js';
import type { Dialect } from './dialect.js';

/** Made once for an answer that a burst of retries gets from memory. */
const replays = new WeakMap<Answer, Answer>();

/** The recorded answer, marked as a replay. */
export function replayOf(
  recorded: { answer: Answer; expiresAt: Date | null },
  dialect: Dialect,
): Answer {
  const made = replays.get(recorded.answer);
  if (made) return made;
  const { status, headers, body } = recorded.answer;
  const replay: Answer = {
    status,
    headers: {
      ...headers,
      'idempotent-replayed': 'true',
      ...finalHeaders(status, recorded.expiresAt, dialect),
    },
    body,
  };
  replays.set(recorded.answer, replay);
  return replay;
}

/** What an answer that every retry gets tells about itself, the first time as well. */
export function finalHeaders(
  status: number,
  expiresAt: Date | null,
  dialect: Dialect,
): Record<string, string> {
  return {
    // Until when the client may count on a replay; absent where the answer is kept for ever.
    ...(expiresAt !== null && { 'idempotency-key-expires': expiresAt.toUTCString() }),
    // stripe-node retries these by itself, and would get the same answer each time.
    ...(dialect === 'stripe' &&
      (status === 409 || status >= 500) && { 'stripe-should-retry': 'false' }),
  };
}
