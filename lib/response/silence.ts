import type { ServerResponse } from 'node:http';
import { overlay, type Members } from './overlay.js';

/**
 * Session middleware may write the head, with its cookie, only after it has asked its store.
 * Until then these methods have to work.
 */
const HEAD_METHODS = [
  'writeHead',
  'setHeader',
  'setHeaders',
  'appendHeader',
  'removeHeader',
] as const satisfies (keyof ServerResponse)[];

type Method = (this: Silenced, ...args: unknown[]) => unknown;

/** The methods of the head as they were before. */
const headOf = Symbol('head');
type Silenced = ServerResponse & { [headOf]: Record<string, Method> };

const ignore: Method = function () {
  return this;
};

function headMethod(name: string): Method {
  return function (...args) {
    return this.headersSent ? this : this[headOf][name]!.apply(this, args);
  };
}

/**
 * The members of a response that has been answered: they ignore what Nest, outer
 * interceptors or filters send. Otherwise those would throw ERR_HTTP_HEADERS_SENT,
 * and every replay would log an error.
 *
 * @param senders the methods that the framework adds to the response for sending
 */
export function silent(senders: readonly string[]): Members {
  const ignored = ['end', 'flushHeaders', ...senders].map((name) => [name, ignore]);
  const ofHead = HEAD_METHODS.map((name) => [name, headMethod(name)]);
  return { methods: { write: () => true, ...Object.fromEntries([...ignored, ...ofHead]) } };
}

/** After the answer. */
export function silence(raw: ServerResponse, members: Members): void {
  const { writeHead, setHeader, setHeaders, appendHeader, removeHeader } = raw;
  const head = { writeHead, setHeader, setHeaders, appendHeader, removeHeader };
  (raw as Silenced)[headOf] = head as unknown as Record<string, Method>;
  overlay(raw, members);
}
