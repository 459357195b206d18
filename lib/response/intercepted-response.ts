import type { ServerResponse } from 'node:http';
import { overlay, type Members } from './overlay.js';

/** The calls by which an application sends, with their arguments. */
export interface Interceptor {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  writeHead(args: unknown[]): unknown;
  flushHeaders(): void;
  write(args: unknown[]): boolean;
  end(args: unknown[]): unknown;
}

/** The methods as they were before, to be called on the response. */
export interface OriginalMethods {
  /** Of the response before; it still knows what has been sent. */
  readonly prototype: object;
  writeHead(...args: unknown[]): unknown;
  flushHeaders(): void;
  write(...args: unknown[]): boolean;
  end(...args: unknown[]): unknown;
}

const interceptorOf = Symbol('interceptor');
type Intercepted = ServerResponse & { [interceptorOf]: Interceptor };

const methods: ThisType<Intercepted> = {
  writeHead(...args: unknown[]) {
    return this[interceptorOf].writeHead(args);
  },
  flushHeaders() {
    this[interceptorOf].flushHeaders();
  },
  write(...args: unknown[]) {
    return this[interceptorOf].write(args);
  },
  end(...args: unknown[]) {
    return this[interceptorOf].end(args);
  },
};

const headersSent: PropertyDescriptor & ThisType<Intercepted> = {
  configurable: true,
  get() {
    return this[interceptorOf].headersSent;
  },
};
const writableEnded: PropertyDescriptor & ThisType<Intercepted> = {
  configurable: true,
  get() {
    return this[interceptorOf].writableEnded;
  },
};

const members: Members = { methods, getters: { headersSent, writableEnded } };

/**
 * Puts an interceptor between the application and a Node response. It stays for
 * the life of the response, because others may have wrapped these methods again.
 */
export function interceptResponse(raw: ServerResponse, interceptor: Interceptor): OriginalMethods {
  const { writeHead, flushHeaders, write, end } = raw;
  const prototype = Object.getPrototypeOf(raw) as object;
  (raw as Intercepted)[interceptorOf] = interceptor;
  overlay(raw, members);
  return { writeHead, flushHeaders, write, end, prototype } as unknown as OriginalMethods;
}

/** The property as the response itself has it, behind the interceptor. */
export function ownView(
  raw: ServerResponse,
  { prototype }: OriginalMethods,
  name: 'headersSent' | 'writableEnded',
): boolean {
  return Boolean(Reflect.get(prototype, name, raw));
}
