import type { ServerResponse } from 'node:http';

/**
 * After the answer: ignores what Nest, outer interceptors or filters send.
 * Otherwise they would throw ERR_HTTP_HEADERS_SENT, and every replay would log an
 * error.
 */
export function silence(raw: ServerResponse, senders: readonly string[]): void {
  const ignore = () => raw;
  const silenced: Record<string, unknown> = {
    write: () => true,
    end: ignore,
    flushHeaders: ignore,
  };
  for (const name of senders) silenced[name] = ignore;

  // Session middleware may write the head, with its cookie, only after it has asked its store.
  // Until then these methods have to work.
  for (const name of HEAD_METHODS) {
    const method = raw[name] as (...args: unknown[]) => unknown;
    const once = (...args: unknown[]) => (raw.headersSent ? raw : method.apply(raw, args));
    silenced[name] = once;
  }
  Object.assign(raw, silenced);
}

const HEAD_METHODS = [
  'writeHead',
  'setHeader',
  'setHeaders',
  'appendHeader',
  'removeHeader',
] as const satisfies (keyof ServerResponse)[];
