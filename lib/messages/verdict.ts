import type { CallEnd } from '../calls/call-runner.js';
import type { IdempotencyRefusedError } from '../calls/refused-call.error.js';
import { backoff } from '../postgres/backoff.js';
import type { ReceivedMessage } from './received-message.js';
import { isDefiniteError } from './rpc-errors.js';

/** What is to become of a message. */
export type Verdict =
  /** It is done with, or whoever can do more about it knows: acknowledge it. */
  | { kind: 'done' }
  /** It is not done, and no further delivery changes that: a dead letter. */
  | { kind: 'refused' }
  /** A further delivery goes on with it, or gets its result. */
  | { kind: 'again'; pause: number };

const DONE: Verdict = { kind: 'done' };
const REFUSED: Verdict = { kind: 'refused' };

/** The pauses before a message whose handler failed comes again: short enough for a blip, long enough for an outage. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

/** After a run or a replay. */
export function verdictOf(end: CallEnd, { answered }: ReceivedMessage): Verdict {
  // An answer is the sender's to act on: it sends the message again if it wants to.
  if (!('error' in end) || answered) return DONE;
  switch (end.outcome) {
    case 'completed':
      return REFUSED;
    case 'given_back':
      // A pipe refused it, and would do so again.
      return isDefiniteError(end.error) ? REFUSED : again(1);
    case 'failed_retryable':
      return again(end.attempt);
    default:
      // Unknown: a redelivery cannot find out more than the reconciler.
      return DONE;
  }
}

/** After a run without a key: nothing is on record, so there is no count of attempts either. */
export function verdictOfUnkeyed(error: unknown, { answered }: ReceivedMessage): Verdict {
  if (answered) return DONE;
  return isDefiniteError(error) ? REFUSED : again(1);
}

/** Where the handler was not run, or its outcome was not recorded. */
export function verdictOfRefusal(
  { code, open, retryAfter = 1 }: IdempotencyRefusedError,
  { answered }: ReceivedMessage,
): Verdict {
  const later: Verdict = { kind: 'again', pause: retryAfter * 1_000 };
  switch (code) {
    case 'in_progress':
    case 'lease_lost':
    case 'store_unavailable':
    // Limits do not hold for messages. If they ever did, no message may be lost by them.
    case 'rate_limited':
      return later;
    case 'outcome_unknown':
      return open ? later : DONE;
    case 'given_up':
    case 'unfinished':
    case 'response_unavailable':
      return DONE;
    default:
      return answered ? DONE : REFUSED;
  }
}

function again(attempt: number): Verdict {
  return { kind: 'again', pause: backoff(attempt, FIRST_PAUSE, LONGEST_PAUSE) };
}
