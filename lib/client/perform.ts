import { expiryOf, read, retryAfter, type CodeOf } from './answers.js';
import { sendOnce } from './attempt.js';
import { markNotExecuted } from './effect.js';
import {
  NotExecutedError,
  OutcomeUnknownError,
  RequestRefusedError,
  type UnknownReason,
} from './errors.js';
import type { HeldKey } from './held-key.js';
import { pause } from './pause.js';
import { WITH_A_HISTORY } from './problem-codes.js';
import type { Resendable } from './resendable.js';
import type { RetryBudget } from './retry-budget.js';
import { followStatus } from './status.js';

/** What is used of fetch(). */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Settings {
  fetch: Fetch;
  header: string;
  attemptHeader: string | false;
  timeout: number;
  attemptTimeout: number;
  retries: number;
  minDelay: number;
  maxDelay: number;
  codeOf: CodeOf | undefined;
  isOutcome: ((response: Response) => boolean | undefined) | undefined;
}

export interface Call {
  settings: Settings;
  request: Resendable;
  key: HeldKey;
  budget: RetryBudget;
  record: ((outcome: Response) => void | Promise<void>) | undefined;
}

/** Clocks differ, and a request travels: so much before the server forgets a key, it is not sent any more. */
const MARGIN = 5_000;

/** Sends the request until its outcome is known. */
export async function perform({ settings, request, key, budget, record }: Call): Promise<Response> {
  const { timeout, retries, minDelay, maxDelay } = settings;
  const { signal } = request.init;
  const signals = signal ? [signal, ...key.signals] : key.signals;
  const deadline = Date.now() + timeout;
  let failed = 0;
  let pauses = 0;
  /** A request under this key may have reached the server. */
  let reached = key.usedBefore;
  let confirming = false;
  let response: Response | undefined;
  let cause: unknown;

  const giveUp = async (reason: UnknownReason) => {
    const failure = { ...key, response };
    if (reached) return new OutcomeUnknownError(reason, failure, cause);
    await key.remove();
    return new NotExecutedError(failure, cause);
  };

  /** Waits for as long as the server asks, or for a random time. */
  const wait = async (after: number) => {
    const longest = Math.min(maxDelay, minDelay * 2 ** pauses++);
    // All who were told the same time should not come back at the same time.
    const delay = after ? after * (1 + Math.random() / 5) : longest * Math.random();
    if (Date.now() + delay >= deadline) throw await giveUp('timeout');
    await pause(delay, signals);
  };

  const again = async (reason: UnknownReason, after: number) => {
    if (failed >= retries) throw await giveUp(reason);
    if (!budget.take()) throw await giveUp('budget');
    failed += 1;
    await wait(after);
  };

  const send = (sent: Resendable) =>
    sendOnce(
      settings,
      sent,
      key,
      signals,
      Math.min(settings.attemptTimeout, deadline - Date.now()),
    );
  const sendAgain = (sent: Resendable) => key.again(() => send(sent));

  const learnExpiry = async (expires: number | undefined) => {
    if (expires === undefined) return;
    key.expires = expires;
    await key.save();
  };

  for (let attempt = send; ; attempt = sendAgain) {
    if (key.expires - MARGIN <= Date.now()) throw await giveUp('expires');
    key.attempts += 1;
    await key.save();
    const sent = await attempt(request);
    ({ response } = sent);
    if ('error' in sent) {
      cause = sent.error;
      reached ||= !sent.unreached;
      // The answer was on its way, and told until when it can be asked for.
      await learnExpiry(response && expiryOf(response));
      await again('retries', 0);
      continue;
    }

    const { advice, code } = read(sent, settings.codeOf);
    const isOutcome = settings.isOutcome?.(sent.response);
    if (isOutcome ?? (advice === 'outcome' || (advice === 'unmarked' && !reached))) {
      budget.giveBack(failed);
      await record?.(sent.response.clone());
      await key.remove();
      return sent.response;
    }
    if (advice === 'refused') {
      const refused = new RequestRefusedError(code!, sent.body, { ...key, response });
      if (!reached && !WITH_A_HISTORY.includes(code!)) {
        markNotExecuted(refused);
        await key.remove();
      }
      throw refused;
    }

    reached = true;
    if (advice === 'unknown') throw await giveUp('given_up');
    if (advice === 'unmarked' && isOutcome === undefined) {
      // Said at the door, such as 401, or by a server that keeps it for ever and marks
      // replays only: the next answer shows which.
      if (confirming) throw await giveUp('refused');
      confirming = true;
    } else if (advice === 'wait') {
      await wait(retryAfter(sent.response));
      await learnExpiry(await followStatus(request, sent.response, sendAgain, wait));
    } else {
      await again(code === 'outcome_unknown' ? code : 'retries', retryAfter(sent.response));
    }
  }
}
