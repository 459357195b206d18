import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { copyHeaders, resetHeaders, type Headers } from './response-headers.js';

/** Status line and headers at the moment when the application considered them sent. */
export interface Head {
  status: number;
  message: string | undefined;
  headers: Headers;
}

export function readHead(raw: ServerResponse): Head {
  const message = hasMessage(raw) ? raw.statusMessage : undefined;
  return { status: raw.statusCode, message, headers: copyHeaders(raw.getHeaders()) };
}

/** Undoes all later changes. */
export function restoreHead(raw: ServerResponse, head: Head): void {
  raw.statusCode = head.status;
  if (hasMessage(raw)) raw.statusMessage = head.message ?? '';
  resetHeaders(raw, head.headers);
}

/** An HTTP/2 response has no reason phrase, and warns when it is read. */
export function hasMessage(raw: ServerResponse): boolean {
  return Object.hasOwn(raw, 'statusMessage');
}

/**
 * Node finds this out when it writes. For a held answer, that is too late for the
 * application's error handling.
 */
export function assertValid({ status }: Head): void {
  if (status >= 100 && status <= 999) return;
  throw new RangeError(`Invalid status code: ${String(status)}`);
}

type HeaderList = OutgoingHttpHeaders | OutgoingHttpHeader[] | [string, OutgoingHttpHeader][];

/** Does what `writeHead(status, [message], [headers])` does, without sending. */
export function applyWriteHead(raw: ServerResponse, args: readonly unknown[]): void {
  const [status, second, third] = args;
  raw.statusCode = Number(status);
  if (typeof second === 'string') raw.statusMessage = second;
  const headers = (typeof second === 'string' ? third : (second ?? third)) as
    HeaderList | undefined;
  if (!headers) return;

  const entries = Array.isArray(headers) ? pairs(headers) : Object.entries(headers);
  // They replace earlier values, while a list may name one header twice.
  for (const [name] of entries) raw.removeHeader(name);
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    raw.appendHeader(name, Array.isArray(value) ? value : String(value));
  }
}

function pairs(
  list: OutgoingHttpHeader[] | [string, OutgoingHttpHeader][],
): [string, OutgoingHttpHeader][] {
  if (Array.isArray(list[0])) return list as [string, OutgoingHttpHeader][];
  const entries: [string, OutgoingHttpHeader][] = [];
  for (let i = 0; i + 1 < list.length; i += 2) {
    entries.push([String(list[i]), list[i + 1] as OutgoingHttpHeader]);
  }
  return entries;
}
