import { backoff } from '../postgres/backoff.js';
import { errorLine, isError } from '../telemetry/error-line.js';

/** The first pause after a failure; doubled for each further one. */
const FIRST_PAUSE = 1_000;

/** Short enough that a message leaves soon after a long outage of the other side is over. */
const LONGEST_PAUSE = 15 * 60_000;

/** Enough for a stack with its causes; whole pages of HTML in an error do not belong into a row. */
const LONGEST_ERROR = 8_000;

/** Errors that cause each other in a circle have been seen. */
const MOST_CAUSES = 5;

/** How long to wait after a message's attempt that failed. */
export function pauseAfter(attempt: number): number {
  return backoff(attempt, FIRST_PAUSE, LONGEST_PAUSE);
}

/**
 * What an operator needs of an error, as text that PostgreSQL takes: its stack
 * and those of its causes. Not its members: the payload may be among them.
 */
export function describeFailure(error: unknown): string {
  let text: string;
  try {
    text = stacksOf(error).join('\n[cause]: ');
  } catch {
    // A getter of the error's own that throws must not keep the failure from being noted.
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
