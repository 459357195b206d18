import type { CodeOf } from './answers.js';
import { runningEffect } from './effect.js';
import { keyInMemory, keyInStore, keyOfPhase } from './held-key.js';
import { memoryKeys, type KeyStore } from './key-store.js';
import { perform, type Fetch } from './perform.js';
import { resendable } from './resendable.js';
import { RetryBudget } from './retry-budget.js';

/** What a client is made with. Times are milliseconds. */
export interface IdempotentFetchOptions {
  /**
   * Where the keys of named operations wait for their outcome.
   * @default memoryKeys(), which a restart empties
   */
  keys?: KeyStore;
  /**
   * Sends the requests.
   * @default the global fetch
   */
  fetch?: Fetch;
  /**
   * The header of the key.
   * @default 'Idempotency-Key'
   */
  header?: string;
  /**
   * The header that counts the requests of a key; `false` sends none.
   * @default 'Idempotency-Attempt'
   */
  attemptHeader?: string | false;
  /**
   * How long a call may take, with all its attempts and pauses.
   * @default 120_000
   */
  timeout?: number;
  /**
   * How long one attempt may take.
   * @default 60_000
   */
  attemptTimeout?: number;
  /**
   * How many attempts may follow one that failed. Asking again about a request that
   * is in progress is none of them.
   * @default 5
   */
  retries?: number;
  /**
   * The longest first pause; the next ones are up to twice as long each, at random.
   * @default 100
   */
  minDelay?: number;
  /**
   * The longest pause, unless the server asks for a longer one.
   * @default 20_000
   */
  maxDelay?: number;
  /**
   * How long the server keeps a key, at least. Older ones are not sent any more,
   * because the server might run them anew.
   * @default 86_400_000, a day
   */
  keyLifetime?: number;
  /** The code in an error envelope of your own: `(body) => body.fault.reason`. */
  codeOf?: CodeOf;
  /**
   * Whether an answer is the last word, for servers that do not mark it with
   * `Idempotency-Key-Expires` or `Idempotent-Replayed`; `undefined` leaves it to the client.
   */
  isOutcome?: (response: Response) => boolean | undefined;
}

/** `RequestInit`, and what one operation needs. */
export interface IdempotentInit extends RequestInit {
  /**
   * A name that stands for this operation and no other, such as `order-4711`. Its key
   * is stored until the outcome is there, and a call for the same name goes on with it.
   */
  operation?: string;
  /** A key of your own. It is sent as it is, and you remember it. */
  idempotencyKey?: string;
  /**
   * Called with the outcome, before the key of a named operation is forgotten: what you
   * write down here is not lost in a crash. After a crash it may be called again.
   */
  record?: (outcome: Response) => void | Promise<void>;
}

/** `fetch()` that repeats a request until its outcome is known, and makes it happen once. */
export interface IdempotentFetch {
  /**
   * The returned response is the outcome, good or bad, and every retry of the server
   * would be the same. Where the outcome is not known, an `OutcomeUnknownError` is thrown.
   */
  (input: string | URL | Request, init?: IdempotentInit): Promise<Response>;
  /** Gives a named operation up: its next call is a new operation, under a new key. */
  forget(operation: string): Promise<void>;
}

const SAFE = /^(GET|HEAD|OPTIONS|TRACE)$/i;

/**
 * Makes a client. It works in Node and in browsers, and finds the foreign phase
 * that it is called in by itself.
 */
export function createIdempotentFetch(options: IdempotentFetchOptions = {}): IdempotentFetch {
  const { keys = memoryKeys(), header = 'Idempotency-Key', keyLifetime = 86_400_000 } = options;
  // Looked up late, for whoever replaces it, and called on what it belongs to.
  const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const settings = {
    fetch,
    header,
    attemptHeader: options.attemptHeader ?? 'Idempotency-Attempt',
    timeout: options.timeout ?? 120_000,
    attemptTimeout: options.attemptTimeout ?? 60_000,
    retries: options.retries ?? 5,
    minDelay: options.minDelay ?? 100,
    maxDelay: options.maxDelay ?? 20_000,
    codeOf: options.codeOf,
    isOutcome: options.isOutcome,
  };
  const budgets = new Map<string, RetryBudget>();

  const idempotentFetch = async (
    input: string | URL | Request,
    { operation, idempotencyKey, record, ...init }: IdempotentInit = {},
  ) => {
    const method = init.method ?? (input as Partial<Request>).method ?? 'GET';
    if (SAFE.test(method)) return fetch(input, init);
    const effect = runningEffect();
    const request = await resendable(input, init, effect && 'manual');
    const { fingerprint, headers, url } = request;
    const given = idempotencyKey ?? headers.get(header);
    let budget = budgets.get(url.host);
    if (!budget) budgets.set(url.host, (budget = new RetryBudget()));
    const key =
      given !== null
        ? keyInMemory(fingerprint, given)
        : effect
          ? keyOfPhase(fingerprint, effect)
          : operation === undefined
            ? keyInMemory(fingerprint, undefined, keyLifetime)
            : await keyInStore(fingerprint, keys, operation, keyLifetime);
    return perform({ settings, request, key, budget, record });
  };

  return Object.assign(idempotentFetch, {
    forget: async (operation: string) => keys.remove(operation),
  });
}
