import type { Answer } from './answer.js';

/** The recorded answer, marked as a replay. */
export function replayOf(recorded: { answer: Answer; expiresAt: Date | null }): Answer {
  const { status, headers, body } = recorded.answer;
  return {
    status,
    headers: { ...headers, 'idempotent-replayed': 'true', ...expiryHeader(recorded.expiresAt) },
    body,
  };
}

/** Until when the client may count on a replay; absent where the answer is kept for ever. */
export function expiryHeader(expiresAt: Date | null): Record<string, string> {
  return expiresAt === null ? {} : { 'idempotency-key-expires': expiresAt.toUTCString() };
}
