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
    headers: together(
      headers,
      { 'idempotent-replayed': 'true' },
      finalHeaders(status, recorded.expiresAt, dialect),
    ),
    body,
  };
  replays.set(recorded.answer, replay);
  return replay;
}

/**
 * One by one: an object that is spread into another one gets a hidden class of
 * its own each time, and then V8 cannot remember where a header is.
 */
function together(...parts: Answer['headers'][]): Answer['headers'] {
  const headers: Answer['headers'] = {};
  for (const part of parts) {
    for (const name in part) headers[name] = part[name]!;
  }
  return headers;
}

/** The headers that the library adds to a final answer, the first time and on each replay. */
export function finalHeaders(
  status: number,
  expiresAt: Date | null,
  dialect: Dialect,
): Record<string, string> {
  const headers: Record<string, string> = {};
  // Until when the answer can be replayed; absent if it is kept for ever.
  if (expiresAt !== null) headers['idempotency-key-expires'] = httpDate(expiresAt);
  // stripe-node would retry these, and get the same answer each time.
  if (dialect === 'stripe' && (status === 409 || status >= 500)) {
    headers['stripe-should-retry'] = 'false';
  }
  return headers;
}

let latest = { second: NaN, text: '' };

/** Answers of the same second usually expire in the same second. */
function httpDate(date: Date): string {
  const second = Math.floor(date.getTime() / 1000);
  if (second !== latest.second) latest = { second, text: date.toUTCString() };
  return latest.text;
}
