import { RequestMethod } from '@nestjs/common';

/**
 * What HTTP itself promises of a method, as the registry of the IANA has it,
 * WebDAV and QUERY included. Names and not numbers of Nest's enumeration, which
 * grows from version to version.
 */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'SEARCH', 'PROPFIND', 'REPORT', 'QUERY']);
const IDEMPOTENT = new Set(['PUT', 'DELETE', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'UNLOCK']);

/** Safe methods change nothing, so there is nothing to protect. */
export function isSafe(method: string): boolean {
  return SAFE.has(method);
}

/** Safe to repeat by HTTP's own rules: a key is welcome there, not demanded. */
export function isIdempotent(method: string): boolean {
  return IDEMPOTENT.has(method);
}

/** The name of what a route's decorator says: `POST`, or `ALL` for `@All()`. */
export function methodName(method: unknown): string | undefined {
  return typeof method === 'number' ? RequestMethod[method] : undefined;
}
