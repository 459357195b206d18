import { RequestMethod } from '@nestjs/common';

/**
 * What HTTP guarantees for a method, according to IANA's registry, including
 * WebDAV and QUERY. Methods are compared by name, because Nest's enumeration
 * grows from version to version.
 */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'SEARCH', 'PROPFIND', 'REPORT', 'QUERY']);
const IDEMPOTENT = new Set(['PUT', 'DELETE', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'UNLOCK']);

/** Safe methods change nothing, so there is nothing to protect. */
export function isSafe(method: string): boolean {
  return SAFE.has(method);
}

/** Idempotent by HTTP's own rules: a key is used if it is sent, and not required. */
export function isIdempotent(method: string): boolean {
  return IDEMPOTENT.has(method);
}

/** The name of the method in a route's decorator: `POST`, or `ALL` for `@All()`. */
export function methodName(method: unknown): string | undefined {
  return typeof method === 'number' ? RequestMethod[method] : undefined;
}
