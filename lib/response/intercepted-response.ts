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

/**
 * The methods as they were before, to be called on the response. A class, because
 * it lives as long as its request: see "Garbage collection" in bench/README.md.
 */
export class OriginalMethods {
  readonly writeHead: (...args: unknown[]) => unknown;
  readonly flushHeaders: () => void;
  readonly write: (...args: unknown[]) => boolean;
  readonly end: (...args: unknown[]) => unknown;
  /** Of the response before; it still knows what has been sent. */
  readonly prototype: object;

  constructor(raw: ServerResponse) {
    const { writeHead, flushHeaders, write, end } = raw;
    this.writeHead = writeHead as OriginalMethods['writeHead'];
    this.flushHeaders = flushHeaders;
    this.write = write as OriginalMethods['write'];
    this.end = end as OriginalMethods['end'];
    this.prototype = Object.getPrototypeOf(raw) as object;
  }
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
  const original = new OriginalMethods(raw);
  (raw as Intercepted)[interceptorOf] = interceptor;
  overlay(raw, members);
  return original;
}

/** The property as the response itself has it, behind the interceptor. */
export function ownView(
  raw: ServerResponse,
  { prototype }: OriginalMethods,
  name: 'headersSent' | 'writableEnded',
): boolean {
  return Boolean(Reflect.get(prototype, name, raw));
}
