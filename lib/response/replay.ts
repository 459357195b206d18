import type { Answer } from './answer.js';

/** Made once for an answer that a burst of retries gets from memory. */
const replays = new WeakMap<Answer, Answer>();

/** The recorded answer, marked as a replay. */
export function replayOf(recorded: { answer: Answer; expiresAt: Date | null }): Answer {
  const made = replays.get(recorded.answer);
  if (made) return made;
  const { status, headers, body } = recorded.answer;
  const replay: Answer = {
    status,
    headers: { ...headers, 'idempotent-replayed': 'true', ...expiryHeader(recorded.expiresAt) },
    body,
  };
  replays.set(recorded.answer, replay);
  return replay;
}

/** Until when the client may count on a replay; absent where the answer is kept for ever. */
export function expiryHeader(expiresAt: Date | null): Record<string, string> {
  return expiresAt === null ? {} : { 'idempotency-key-expires': expiresAt.toUTCString() };
}
