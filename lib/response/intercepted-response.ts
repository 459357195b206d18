import type { ServerResponse } from 'node:http';

/** The calls by which an application sends, each with its arguments as they were given. */
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

// Made once: a getter of its own for each response would cost more than all the
// rest, because every response would then have a shape of its own.
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

/**
 * Puts an interceptor between the application and a node response. It stays for
 * the life of the response, since others may have wrapped these methods again.
 */
export function interceptResponse(raw: ServerResponse, interceptor: Interceptor): OriginalMethods {
  const { writeHead, flushHeaders, write, end } = raw;
  Object.assign(raw, {
    [interceptorOf]: interceptor,
    writeHead: (...args: unknown[]) => interceptor.writeHead(args),
    flushHeaders: () => interceptor.flushHeaders(),
    write: (...args: unknown[]) => interceptor.write(args),
    end: (...args: unknown[]) => interceptor.end(args),
  });
  Object.defineProperty(raw, 'headersSent', headersSent);
  Object.defineProperty(raw, 'writableEnded', writableEnded);
  return { writeHead, flushHeaders, write, end } as unknown as OriginalMethods;
}

/** The property as the response itself has it, behind the interceptor. */
export function ownView(raw: ServerResponse, name: 'headersSent' | 'writableEnded'): boolean {
  return Boolean(Reflect.get(Object.getPrototypeOf(raw) as object, name, raw));
}
