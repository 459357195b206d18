import { onThisClock, retryAfter } from './answers.js';
import type { sendOnce } from './attempt.js';
import type { Resendable } from './resendable.js';

/**
 * Asks the status resource that a 202 names until the operation is over, which
 * costs the server less than the whole request. The answer itself is for the next
 * retry. Where the status cannot be read, that one has to tell.
 *
 * @returns when the key expires, if the status says so
 */
export async function followStatus(
  request: Resendable,
  accepted: Response,
  send: (request: Resendable) => ReturnType<typeof sendOnce>,
  wait: (after: number) => Promise<void>,
): Promise<number | undefined> {
  const location = accepted.status === 202 && accepted.headers.get('location');
  if (!location) return undefined;
  const url = new URL(location, request.url);
  // The headers may hold credentials, which are meant for this origin.
  if (url.origin !== request.url.origin) return undefined;
  const headers = new Headers(request.headers);
  headers.delete('content-type');
  headers.set('accept', 'application/json');
  const init = { ...request.init, method: 'GET', body: null };
  for (;;) {
    const sent = await send({ ...request, url, headers, init });
    if ('error' in sent || !sent.response.ok) return undefined;
    const progress = (await sent.response.json().catch(() => ({}))) as {
      status?: string;
      expiresAt?: string;
    };
    if (!/^(pending|in_progress)$/.test(progress.status ?? '')) {
      return onThisClock(progress.expiresAt, sent.response);
    }
    await wait(retryAfter(sent.response));
  }
}
