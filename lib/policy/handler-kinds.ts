import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { isIdempotent, isSafe, methodName } from './http-methods.js';

// By their names: the packages behind them need not be installed.
export const PATTERN_METADATA = 'microservices:pattern';
export const TRANSPORT_METADATA = 'microservices:transport';
const HANDLER_TYPE_METADATA = 'microservices:handler_type';
const EVENT = 2;
export const RESOLVER_TYPE_METADATA = 'graphql:resolver_type';
export const RESOLVER_NAME_METADATA = 'graphql:resolver_name';

/** What calls a handler that can change something, where it is no HTTP request. */
export type EntryKind = 'message' | 'event' | 'mutation';

/** An HTTP route, whatever its method. */
export function isRoute(handler: object): boolean {
  return (
    Reflect.hasMetadata(METHOD_METADATA, handler) && Reflect.hasMetadata(PATH_METADATA, handler)
  );
}

/** Undefined: only HTTP requests call it, or nothing does, or it is of a kind that cannot be idempotent. */
export function entryKindOf(handler: object): EntryKind | undefined {
  if (Reflect.hasMetadata(PATTERN_METADATA, handler)) {
    return Reflect.getMetadata(HANDLER_TYPE_METADATA, handler) === EVENT ? 'event' : 'message';
  }
  return Reflect.getMetadata(RESOLVER_TYPE_METADATA, handler) === 'Mutation'
    ? 'mutation'
    : undefined;
}

/** The patterns of a message handler, or the name of a mutation. */
export function entryNamesOf(handler: object): string[] {
  const patterns: unknown = Reflect.getMetadata(PATTERN_METADATA, handler);
  if (patterns !== undefined) return [patterns].flat().map(patternText);
  const field = Reflect.getMetadata(RESOLVER_NAME_METADATA, handler) as string | undefined;
  return [field ?? (handler as { name: string }).name];
}

function patternText(pattern: unknown): string {
  return typeof pattern === 'string' ? pattern : (JSON.stringify(pattern) ?? String(pattern));
}

/**
 * Whether a class-level `@Idempotent()` covers this handler: it does for messages,
 * events and mutations, for HTTP methods that are not idempotent by HTTP's own
 * rules, and for `@All()`, which includes such methods.
 */
export function isForClass(handler: object): boolean {
  const method = methodName(Reflect.getMetadata(METHOD_METADATA, handler));
  const changes = method !== undefined && !isSafe(method) && !isIdempotent(method);
  return (isRoute(handler) && changes) || entryKindOf(handler) !== undefined;
}
