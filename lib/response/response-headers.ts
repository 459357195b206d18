import type { OutgoingHttpHeaders } from 'node:http';
import type { Answer } from '../answers/answer.js';

/** Lower-case names, as in an `Answer`. */
export type Headers = Answer['headers'];

/** What is common to a node response and a framework's reply around it. */
export interface HeaderTarget {
  getHeaders(): OutgoingHttpHeaders;
  setHeader(name: string, value: string | string[]): unknown;
  removeHeader(name: string): unknown;
}

/**
 * Headers that belong to one particular answer. They are removed when another
 * answer replaces it, wherever they came from: `@Header()` sets them before any
 * interceptor runs, and a problem document labelled `text/csv`, or with the
 * length of the original, would be broken.
 */
const OF_ONE_ANSWER: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-location',
  'content-disposition',
  'content-range',
  'content-digest',
  'repr-digest',
  'etag',
  'last-modified',
  'location',
  'trailer',
  'transfer-encoding',
]);

/** A copy that later calls on the response cannot change; lists are copied too. */
export function copyHeaders(headers: OutgoingHttpHeaders): Headers {
  const copy: Headers = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    if (typeof value === 'string') copy[name] = value;
    else copy[name] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return copy;
}

/** The headers that others have set (CORS, request id, session), with those of another answer. */
export function headersOfAnotherAnswer(surroundings: Headers, answer: Headers): Headers {
  const headers: Headers = {};
  for (const name in surroundings) {
    if (!OF_ONE_ANSWER.has(name)) headers[name] = surroundings[name]!;
  }
  for (const name in answer) headers[name.toLowerCase()] = answer[name]!;
  return headers;
}

/** Gives the response exactly these headers. Headers that are right already keep their spelling. */
export function resetHeaders(
  target: HeaderTarget,
  wanted: Headers,
  current = target.getHeaders(),
): void {
  for (const name in current) {
    if (!Object.hasOwn(wanted, name)) target.removeHeader(name);
  }
  for (const name in wanted) {
    const value = wanted[name]!;
    if (!isSame(current[name], value)) target.setHeader(name, value);
  }
}

function isSame(current: OutgoingHttpHeaders[string], wanted: string | string[]): boolean {
  if (current === undefined) return false;
  if (typeof wanted === 'string') return !Array.isArray(current) && String(current) === wanted;
  return (
    Array.isArray(current) &&
    current.length === wanted.length &&
    current.every((value, index) => value === wanted[index])
  );
}

/** A status whose message never has content (RFC 9110, sections 15.3.5 and 15.4.5). */
export function hasNoContent(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}
