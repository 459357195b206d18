import { backoff } from '../postgres/backoff.js';
import { errorLine, isError } from '../telemetry/error-line.js';

/** The first pause after a failure; it doubles for each further one. */
const FIRST_PAUSE = 1_000;

/** Short enough that a message is delivered soon after a long outage has ended. */
const LONGEST_PAUSE = 15 * 60_000;

/** Enough for a stack with its causes; whole pages of HTML in an error do not belong in a row. */
const LONGEST_ERROR = 8_000;

/** Causes can be circular. */
const MOST_CAUSES = 5;

/** How long to wait after a failed delivery. */
export function pauseAfter(attempt: number): number {
  return backoff(attempt, FIRST_PAUSE, LONGEST_PAUSE);
}

/**
 * The part of an error that an operator needs, as text that PostgreSQL accepts:
 * its stack and those of its causes. Not its other properties: one of them may be
 * the payload.
 */
export function describeFailure(error: unknown): string {
  let text: string;
  try {
    text = stacksOf(error).join('\n[cause]: ');
  } catch {
    // A getter of the error that throws must not keep the failure from being recorded.
    text = 'The delivery failed with an error that cannot be shown.';
  }
  return text.replaceAll('\0', '').slice(0, LONGEST_ERROR);
}

function stacksOf(error: unknown): string[] {
  const stacks: string[] = [];
  for (let at = error; stacks.length < MOST_CAUSES; at = (at as Error).cause) {
    if (!isError(at)) {
      if (at !== undefined || stacks.length === 0) stacks.push(errorLine(at));
      break;
    }
    stacks.push(at.stack ?? errorLine(at));
  }
  return stacks;
}
