import type { ServerResponse } from 'node:http';

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
  writeHead(...args: unknown[]): unknown;
  flushHeaders(): void;
  write(...args: unknown[]): boolean;
  end(...args: unknown[]): unknown;
}

const interceptorOf = Symbol('interceptor');
type Intercepted = ServerResponse & { [interceptorOf]: Interceptor };

// All of these are created once: with its own functions each response would have its own shape, and
// every access to it would become slow.
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

/**
 * Puts an interceptor between the application and a Node response. It stays for
 * the life of the response, because others may have wrapped these methods again.
 */
export function interceptResponse(raw: ServerResponse, interceptor: Interceptor): OriginalMethods {
  const { writeHead, flushHeaders, write, end } = raw;
  (raw as Intercepted)[interceptorOf] = interceptor;
  Object.assign(raw, methods);
  Object.defineProperty(raw, 'headersSent', headersSent);
  Object.defineProperty(raw, 'writableEnded', writableEnded);
  return { writeHead, flushHeaders, write, end } as unknown as OriginalMethods;
}

/** The property as the response itself has it, behind the interceptor. */
export function ownView(raw: ServerResponse, name: 'headersSent' | 'writableEnded'): boolean {
  return Boolean(Reflect.get(Object.getPrototypeOf(raw) as object, name, raw));
}
