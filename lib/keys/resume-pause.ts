import { backoff } from '../postgres/backoff.js';

/** The client has priority: it usually retries within a second or two. */
const FIRST_PAUSE = 2_000;

/** An outage of another system lasts minutes; longer pauses would delay the work for no reason. */
const LONGEST_PAUSE = 5 * 60_000;

/** How long after an attempt the completer waits before it makes the next one. */
export function resumeIn(attempt: number): number {
  return backoff(attempt, FIRST_PAUSE, LONGEST_PAUSE);
}
