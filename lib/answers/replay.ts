import type { Answer } from './answer.js';
import type { Dialect } from './dialect.js';

/** Computed once per answer, for bursts of retries that are answered from memory. */
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

/** The headers that the library adds to a final answer, the first time and on each replay. */
export function finalHeaders(
  status: number,
  expiresAt: Date | null,
  dialect: Dialect,
): Record<string, string> {
  return {
    // Until when the answer can be replayed; absent if it is kept for ever.
    ...(expiresAt !== null && { 'idempotency-key-expires': expiresAt.toUTCString() }),
    // stripe-node would retry these, and get the same answer each time.
    ...(dialect === 'stripe' &&
      (status === 409 || status >= 500) && { 'stripe-should-retry': 'false' }),
  };
}
