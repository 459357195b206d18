import type { Received } from './answers.js';
import type { HeldKey } from './held-key.js';
import { whenAborted } from './pause.js';
import type { Settings } from './perform.js';
import type { Resendable } from './resendable.js';
import { isJson } from './result-of.js';

/** An attempt that got no whole answer. */
export interface Broken {
  error: unknown;
  /** The head of the answer, if it broke off after that. */
  response?: Response | undefined;
  /** Nothing of the request has reached the server. */
  unreached: boolean;
}

/** How Node's fetch() says that there was no connection. Browsers do not say why. */
const NO_CONNECTION =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** One request, with its whole answer. Throws only if one of the signals has fired. */
export async function sendOnce(
  { fetch, header, attemptHeader }: Pick<Settings, 'fetch' | 'header' | 'attemptHeader'>,
  { url, init, headers, direct }: Resendable,
  { key, attempts }: Pick<HeldKey, 'key' | 'attempts'>,
  signals: readonly AbortSignal[],
  limit: number,
): Promise<Received | Broken> {
  headers.set(header, key);
  if (attemptHeader) headers.set(attemptHeader, String(attempts));
  // Not AbortSignal.timeout(): it would also fire later, and take the body that the caller has not read.
  const attempt = new AbortController();
  const timer = setTimeout(
    () => attempt.abort(new DOMException('The attempt took too long.', 'TimeoutError')),
    limit,
  );
  let stopListening: (() => void) | undefined = whenAborted(signals, (reason) =>
    attempt.abort(reason),
  );
  let response: Response | undefined;
  try {
    for (const signal of signals) signal.throwIfAborted();
    response = await fetch(url.href, { ...init, headers: [...headers], signal: attempt.signal });
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      // Its end may never come. The caller's signal still ends it.
      stopListening = undefined;
      return { response, body: undefined };
    }
    // An answer that breaks off is none, so it is read before anybody relies on it.
    const bytes = await response.clone().arrayBuffer();
    return { response, body: bodyOf(response, bytes) };
  } catch (error) {
    for (const signal of signals) signal.throwIfAborted();
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    return { error, response, unreached: direct && !response && NO_CONNECTION.test(code ?? '') };
  } finally {
    clearTimeout(timer);
    stopListening?.();
  }
}

function bodyOf(response: Response, bytes: ArrayBuffer): unknown {
  if ((response.status < 400 && response.status !== 202) || !isJson(response)) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
