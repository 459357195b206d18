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

/**
 * Puts an interceptor between the application and a node response. It stays for
 * the life of the response, since others may have wrapped these methods again.
 */
export function interceptResponse(raw: ServerResponse, interceptor: Interceptor): OriginalMethods {
  const { writeHead, flushHeaders, write, end } = raw;
  Object.assign(raw, {
    writeHead: (...args: unknown[]) => interceptor.writeHead(args),
    flushHeaders: () => interceptor.flushHeaders(),
    write: (...args: unknown[]) => interceptor.write(args),
    end: (...args: unknown[]) => interceptor.end(args),
  });
  Object.defineProperties(raw, {
    headersSent: { configurable: true, get: () => interceptor.headersSent },
    writableEnded: { configurable: true, get: () => interceptor.writableEnded },
  });
  return { writeHead, flushHeaders, write, end } as unknown as OriginalMethods;
}

/** The property as the response itself has it, behind the interceptor. */
export function ownView(raw: ServerResponse, name: 'headersSent' | 'writableEnded'): boolean {
  return Boolean(Reflect.get(Object.getPrototypeOf(raw) as object, name, raw));
}
