import { ADVICE, codeIn, type ProblemCode } from './problem-codes.js';

/** An answer whose body is here. */
export interface Received {
  response: Response;
  /** The body, where it is JSON and could be an answer of the library's own. */
  body: unknown;
}

/** What an answer asks of the client. */
export interface Reading {
  /**
   * `unmarked`: a refusal that nobody has put on record, such as 401. It is the
   * outcome if nothing was sent before.
   */
  advice: (typeof ADVICE)[ProblemCode] | 'unmarked';
  code?: ProblemCode | undefined;
}

/** How the codes of an error envelope of your own are found. */
export type CodeOf = (body: unknown, response: Response) => string | undefined;

/** Reads an answer in any dialect of the library, and those of other servers as HTTP means them. */
export function read({ response, body }: Received, codeOf: CodeOf | undefined): Reading {
  const { status, headers } = response;
  // On record at the server: every retry gets the same.
  if (headers.has('idempotent-replayed') || headers.has('idempotency-key-expires')) {
    return { advice: 'outcome' };
  }
  const code = codeIn(codeOf ? { code: codeOf(body, response) } : body);
  if (status >= 400 && code) return { advice: ADVICE[code], code };
  if (response.ok) return { advice: isAccepted(status, body) ? 'wait' : 'outcome' };
  const told = headers.get('stripe-should-retry');
  if (told) return { advice: told === 'true' ? 'retry' : 'outcome' };
  // The draft's "still being processed", in words that this client does not know.
  if (status === 409 && headers.has('retry-after')) return { advice: 'wait' };
  return { advice: saysLater(status) ? 'retry' : 'unmarked' };
}

/** 202 of the library. Any other 202 is the answer of the application. */
function isAccepted(status: number, body: unknown): boolean {
  return status === 202 && (body as { status?: unknown } | undefined)?.status === 'in_progress';
}

function saysLater(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

/** A date of the server's, on this clock: one of the two may be wrong. Undefined if it is no date. */
export function onThisClock(date: string | null | undefined, { headers }: Response) {
  const time = Date.parse(date ?? '');
  const now = Date.now();
  return time ? time - (Date.parse(headers.get('date') ?? '') || now) + now : undefined;
}

/** Milliseconds to wait for, from seconds or a date. 0 where nothing is said. */
export function retryAfter(response: Response): number {
  const told = response.headers.get('retry-after');
  const seconds = Number(told);
  const after = seconds >= 0 ? seconds * 1000 : (onThisClock(told, response) ?? 0) - Date.now();
  return Math.max(0, after);
}

/** When the server forgets the key; undefined where it does not say. */
export function expiryOf(response: Response): number | undefined {
  return onThisClock(response.headers.get('idempotency-key-expires'), response);
}
